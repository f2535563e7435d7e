/* SPDX-License-Identifier: MIT */
/*
 * Profile files.  This module owns their path, format and permissions.  After a
 * crash during a save, a profile file is the old or the new one, and a
 * temporary file may remain.
 */
#include "lib/profile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/mem.h"
#include "lib/dump.h"
#include "lib/parse.h"
#include "model/message.h"

/* The largest size in bytes of a profile file that can be loaded; a larger file
 * counts as damaged.  A file with all members has about 500 bytes. */
#define PROFILE_FILE_MOST 16384

/* Writes ${XDG variable}/twinbox, or ~/${fallback}/twinbox, into ${ret}. */
static enum rc
base_folder(const char *variable, const char *fallback, char ret[PATH_MAX],
    struct fail *fail)
{
	const char *base = getenv(variable);
	const char *home = getenv("HOME");
	int n;

	if (base != NULL && base[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/twinbox", base);
	else if (home != NULL && home[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/%s/twinbox", home, fallback);
	else {
		(void)fail_set(fail, FAIL_CONFIG,
		    "neither %s nor HOME names a folder", variable);
		return (fail_cure(fail, "set HOME"));
	}
	/* Leave room for the file names that are appended. */
	if (n < 0 || n >= PATH_MAX - 1024)
		return (fail_set(fail, FAIL_CONFIG,
		    "the path in %s or HOME "
		    "is too long",
		    variable));
	return (RC_OK);
}

/* Creates ${path} and its parent folders with mode 0700. */
static enum rc
make_folders(const char *path, struct fail *fail)
{
	char part[PATH_MAX];
	size_t i;

	for (i = 1; i < sizeof(part) - 1; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0700) != 0 && errno != EEXIST)
			return (fail_set(fail, FAIL_CANNOT_CREATE,
			    "cannot make the folder %.150s: %s", part,
			    strerror(errno)));
		if (path[i] == '\0')
			break;
	}
	return (RC_OK);
}

/* Writes the path of the file of profile ${name} into ${ret}. */
static enum rc
profile_path(const char *name, char ret[PATH_MAX], struct fail *fail)
{
	size_t n;

	if (!model_name_valid(name, strlen(name)) || name[0] == '.') {
		(void)fail_set(
		    fail, FAIL_USAGE, "this is not a valid name for a profile");
		return (fail_cure(
		    fail, "take up to %d of a-z 0-9 . _ -", LIMIT_NAME_LEN));
	}
	if (base_folder("XDG_CONFIG_HOME", ".config", ret, fail) != RC_OK)
		return (fail->rc);
	n = strlen(ret);
	(void)snprintf(ret + n, PATH_MAX - n, "/%s.json", name);
	return (RC_OK);
}

/* Appends the name of a profile to ${array} if ${name} is a profile file. */
static void
add_name(json_t *array, const char *name)
{
	size_t n = strlen(name);

	if (n > 5 && name[0] != '.' && strcmp(name + n - 5, ".json") == 0 &&
	    model_name_valid(name, n - 5))
		(void)json_array_append_new(array, json_stringn(name, n - 5));
}

enum rc
profile_names(json_t **ret, struct fail *fail)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	json_t *array;
	DIR *folder;

	if (base_folder("XDG_CONFIG_HOME", ".config", path, fail) != RC_OK)
		return (fail->rc);
	array = json_array();
	if (array == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	/* Without the folder there are no profiles. */
	folder = opendir(path);
	if (folder != NULL) {
		while ((entry = readdir(folder)) != NULL)
			add_name(array, entry->d_name);
		(void)closedir(folder);
	}
	*ret = array;
	return (RC_OK);
}

/* Copies string member ${name} of ${json} into ${ret}; "" if the member is
 * missing or null.  Returns false, with ${ret} "", if the member does not fit
 * into ${size} bytes or is of another type. */
static bool
copy_member(const json_t *json, const char *name, char *ret, size_t size)
{
	const json_t *value = json_object_get(json, name);

	ret[0] = '\0';
	if (value == NULL || json_is_null(value))
		return (true);
	if (!json_is_string(value) || json_string_length(value) >= size)
		return (false);
	(void)snprintf(ret, size, "%s", json_string_value(value));
	return (true);
}

/* Appends the contents of file ${fd} to ${b}, and stops reading once ${b} is
 * longer than PROFILE_FILE_MOST bytes.  Returns false with errno set if the
 * file cannot be read.  Returns true also if the file is longer or ${b} has run
 * out of memory; the caller checks both. */
static bool
read_file(int fd, struct buf *b)
{
	char part[4096];
	ssize_t n;

	while (b->len <= PROFILE_FILE_MOST) {
		if ((n = read(fd, part, sizeof(part))) == 0)
			return (true);
		if (n > 0)
			buf_add(b, part, (size_t)n);
		else if (errno != EINTR)
			return (false);
	}
	return (true);
}

/* Parses the JSON in the open file ${fd}, called ${path} in failure texts, into
 * *ret, which the caller has set to NULL and decrefs.  Returns RC_PEER if the
 * file is longer than PROFILE_FILE_MOST bytes or parse_json() refuses it; only
 * then must the caller fill ${fail}. */
static enum rc
read_json(int fd, const char *path, json_t **ret, struct fail *fail)
{
	struct buf b = BUF_INIT;
	enum rc rc;

	if (!read_file(fd, &b))
		rc = fail_set(fail, FAIL_INPUT_OUTPUT, "%.150s: %s", path,
		    strerror(errno));
	else if (!buf_ok(&b))
		rc = fail_set(fail, FAIL_MEMORY, "out of memory");
	else if (b.len > PROFILE_FILE_MOST)
		rc = RC_PEER;
	else
		rc = parse_json(path, b.data, b.len, ret, fail);
	buf_fini(&b);
	return (rc);
}

/* Reads the open file ${fd}, called ${path}, into the profile ${ret}. */
static enum rc
read_profile(int fd, const char *path, struct profile *ret, struct fail *fail)
{
	struct stat st;
	json_t *json = NULL;
	enum rc rc;
	bool ok;

	if (fstat(fd, &st) != 0)
		return (fail_set(fail, FAIL_INPUT_OUTPUT, "%.150s: %s", path,
		    strerror(errno)));
	if ((st.st_mode & 077) != 0) {
		(void)fail_set(fail, FAIL_CONFIG,
		    "%.150s holds a token and others may read it", path);
		return (fail_cure(fail, "chmod 600 %.150s", path));
	}
	rc = read_json(fd, path, &json, fail);
	if (rc != RC_OK && rc != RC_PEER)
		return (rc);
	ok = json_is_object(json) &&
	     copy_member(json, "server", ret->server, sizeof(ret->server)) &&
	     copy_member(json, "user", ret->user, sizeof(ret->user)) &&
	     copy_member(json, "token", ret->token, sizeof(ret->token)) &&
	     copy_member(
		 json, "token_id", ret->token_id, sizeof(ret->token_id)) &&
	     copy_member(json, "device", ret->device, sizeof(ret->device));
	json_decref(json);
	if (ok)
		return (RC_OK);
	(void)fail_set(fail, FAIL_CONFIG, "%.150s is damaged", path);
	return (fail_cure(fail, "remove it and log in again"));
}

enum rc
profile_load(const char *name, struct profile *ret, struct fail *fail)
{
	char path[PATH_MAX];
	enum rc rc;
	int fd;

	memset(ret, 0, sizeof(*ret));
	rc = profile_path(name, path, fail);
	if (rc != RC_OK)
		return (rc);
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return (RC_OK);
	if (fd < 0)
		return (fail_set(fail, FAIL_CONFIG, "cannot read %.150s: %s",
		    path, strerror(errno)));
	rc = read_profile(fd, path, ret, fail);
	(void)close(fd);
	return (rc);
}

/* Makes a rename in the folder of ${path} durable. */
static int
sync_folder(char *path)
{
	char *slash = strrchr(path, '/');
	int fd, rc;

	*slash = '\0';
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*slash = '/';
	if (fd < 0)
		return (-1);
	rc = fsync(fd);
	(void)close(fd);
	return (rc);
}

/* Writes all ${n} bytes at ${p}.  Returns false with errno set on a failure. */
static bool
write_all(int fd, const char *p, size_t n)
{
	ssize_t wrote;

	while (n > 0) {
		wrote = write(fd, p, n);
		if (wrote < 0 && errno != EINTR)
			return (false);
		if (wrote > 0) {
			p += wrote;
			n -= (size_t)wrote;
		}
	}
	return (true);
}

/* Replaces ${path} by a file with the ${n} bytes at ${text}, atomically, and
 * syncs the file and its folder.  Returns 0, or the errno of a failure.  After
 * a failure the old file is unchanged, unless only the sync of the folder has
 * failed: in that case the new file is in place. */
static int
replace_file(char *path, const char *text, size_t n)
{
	char temporary[PATH_MAX + 32];
	int fd, error = 0;

	(void)snprintf(
	    temporary, sizeof(temporary), "%s.%ld.tmp", path, (long)getpid());
	(void)unlink(temporary);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return (errno);
	if (!write_all(fd, text, n) || fsync(fd) != 0)
		error = errno;
	if (close(fd) != 0 && error == 0)
		error = errno;
	if (error == 0 && rename(temporary, path) != 0)
		error = errno;
	if (error != 0)
		(void)unlink(temporary);
	else if (sync_folder(path) != 0)
		error = errno;
	return (error);
}

enum rc
profile_save(const struct profile *p, struct fail *fail)
{
	char path[PATH_MAX], folder[PATH_MAX], *text;
	json_t *json;
	size_t n;
	int error;

	if (base_folder("XDG_CONFIG_HOME", ".config", folder, fail) != RC_OK ||
	    make_folders(folder, fail) != RC_OK ||
	    profile_path(p->name, path, fail) != RC_OK)
		return (fail->rc);
	json = json_pack("{ss ss ss ss ss}", "server", p->server, "user",
	    p->user, "token", p->token, "token_id", p->token_id, "device",
	    p->device);
	text = dump_json(json, JSON_INDENT(2), &n);
	json_decref(json);
	if (text == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	error = replace_file(path, text, n);
	explicit_bzero(text, n);
	mem_free(text);
	if (error != 0)
		return (fail_set(fail, FAIL_CANNOT_CREATE,
		    "cannot write %.150s: %s", path, strerror(error)));
	return (RC_OK);
}

enum rc
profile_remove(struct profile *p, struct fail *fail)
{
	char path[PATH_MAX];

	if (profile_path(p->name, path, fail) != RC_OK)
		return (fail->rc);
	if (unlink(path) != 0 && errno != ENOENT)
		return (fail_set(fail, FAIL_INPUT_OUTPUT,
		    "cannot remove %.150s: %s", path, strerror(errno)));
	p->user[0] = p->token[0] = p->token_id[0] = p->device[0] = '\0';
	return (RC_OK);
}

enum rc
profile_state_path(
    const struct profile *p, char ret[PATH_MAX], struct fail *fail)
{
	const char *host = strstr(p->server, "://");
	size_t n;

	if (base_folder("XDG_STATE_HOME", ".local/state", ret, fail) != RC_OK)
		return (fail->rc);
	n = strlen(ret);
	(void)snprintf(ret + n, PATH_MAX - n, "/%s", p->name);
	if (make_folders(ret, fail) != RC_OK)
		return (fail->rc);
	n = strlen(ret);
	(void)snprintf(ret + n, PATH_MAX - n, "/%s@%.300s.db", p->user,
	    host != NULL ? host + 3 : p->server);
	for (n++; ret[n] != '\0'; n++) {
		if (ret[n] == '/' || ret[n] == ':')
			ret[n] = '_';
	}
	return (RC_OK);
}
