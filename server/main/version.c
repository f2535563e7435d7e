/* SPDX-License-Identifier: MIT */
/*
 * Lists the version of twinboxd and those of the libraries in use, which a bug
 * report, or a check against known vulnerabilities, needs.  Each library is
 * asked for its version at run time, because the system may have updated the
 * library since the build.
 */
#include <curl/curl.h>
#include <jansson.h>
#ifdef HAVE_POSTGRES
#include <libpq-fe.h>
#endif
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
#ifdef HAVE_POSTGRES
	/* 150013 is 15.13. */
	buf_addf(out, "libpq %d.%d\n", PQlibVersion() / 10000,
	    PQlibVersion() % 10000);
#endif
	buf_addf(out, "jansson %s\n", jansson_version_str());
	buf_addf(out, "libsodium %s\n", sodium_version_string());
}
