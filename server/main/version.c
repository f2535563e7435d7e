/* SPDX-License-Identifier: MIT */
/*
 * The version, and those of the libraries that are in use: what a report of a
 * defect, or a look at a list of known ones, needs.  They are asked for, not
 * compiled in, because the system may have changed them since.
 */
#include <curl/curl.h>
#include <jansson.h>
#include <libwebsockets.h>
#include <microhttpd.h>
#include <sodium.h>
#include <sqlite3.h>
#include <uv.h>

#include "main/main_internal.h"

void
version_write(struct buf *out)
{

	buf_addf(out, "twinboxd %s\n", PACKAGE_VERSION);
	buf_addf(out, "libmicrohttpd %s\n", MHD_get_version());
	buf_addf(out, "libwebsockets %s\n", lws_get_library_version());
	buf_addf(out, "libuv %s\n", uv_version_string());
	buf_addf(
	    out, "libcurl %s\n", curl_version_info(CURLVERSION_NOW)->version);
	buf_addf(out, "SQLite %s\n", sqlite3_libversion());
	buf_addf(out, "jansson %s\n", jansson_version_str());
	buf_addf(out, "libsodium %s\n", sodium_version_string());
}
