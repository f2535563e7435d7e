/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without libFuzzer, as a test of make check.  The inputs
 * are those kept in tests/fuzz/corpus/NAME.txt and in tests/fuzz/cases/NAME
 * (finds of the past), or in the files and folders that the arguments name.
 * Prints TAP.  An input that is a find ends the program, after its name was
 * printed.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/corpus.h"
#include "fuzz/fuzz.h"

/* The path of the current input, with its line if it is in a corpus. */
static char current[PATH_MAX + 16];

static void
say(const char *text)
{

	(void)!write(STDERR_FILENO, text, strlen(text));
}

static void
on_abort(int number)
{

	(void)number;
	say("not ok - the input is ");
	say(current);
	say("\n");
	_exit(1);
}

static void
replay_file(const char *path)
{
	struct stat st;
	uint8_t *data;
	FILE *file;
	size_t n;

	(void)snprintf(current, sizeof(current), "%s", path);
	file = fopen(path, "re");
	MUST(file != NULL && fstat(fileno(file), &st) == 0);
	data = malloc((size_t)st.st_size + 1);
	MUST(data != NULL);
	n = fread(data, 1, (size_t)st.st_size, file);
	MUST(n == (size_t)st.st_size);
	(void)fclose(file);
	MUST(LLVMFuzzerTestOneInput(data, n) == 0);
	free(data);
}

/* Runs the inputs in ${path}, a file or a folder.  Returns their number, or -1
 * if ${path} cannot be read. */
static int
replay(const char *path)
{
	char name[PATH_MAX];
	struct dirent *entry;
	DIR *dir;
	int n = 0;

	if ((dir = opendir(path)) == NULL) {
		if (errno != ENOTDIR)
			return (-1);
		replay_file(path);
		return (1);
	}
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(
		    name, sizeof(name), "%s/%s", path, entry->d_name);
		replay_file(name);
		n++;
	}
	(void)closedir(dir);
	return (n);
}

/* Runs the inputs in the corpus ${path}.  Returns their number, or -1 if there
 * is no such file.  The lines must be sorted and differ: another order shows
 * that tests/fuzz/keep did not write the file. */
static int
replay_corpus(const char *path)
{
	char *line = NULL, *last = NULL;
	size_t room = 0, size;
	uint8_t *data;
	FILE *file;
	int n = 0;

	if ((file = fopen(path, "re")) == NULL)
		return (-1);
	while (getline(&line, &room, file) > 0) {
		(void)snprintf(current, sizeof(current), "%s:%d", path, ++n);
		line[strcspn(line, "\n")] = '\0';
		MUST(last == NULL || strcmp(last, line) < 0);
		data = corpus_input(line, &size);
		MUST(data != NULL);
		MUST(LLVMFuzzerTestOneInput(data, size) == 0);
		free(data);
		free(last);
		last = line;
		line = NULL;
	}
	MUST(!ferror(file));
	free(last);
	free(line);
	(void)fclose(file);
	return (n);
}

/* Returns the name of the target that this program runs, which is called
 * fuzz_NAME. */
static const char *
target_name(const char *program)
{
	const char *slash = strrchr(program, '/');
	const char *name = (slash == NULL) ? program : slash + 1;

	return (strncmp(name, "fuzz_", 5) == 0 ? name + 5 : name);
}

int
main(int argc, char **argv)
{
	const char *source = getenv("TWINBOX_SOURCE");
	struct sigaction action = {.sa_handler = on_abort};
	char path[PATH_MAX];
	int i, n, empty = 0;

	(void)sigaction(SIGABRT, &action, NULL);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)LLVMFuzzerInitialize(&argc, &argv);
	if (argc > 1) {
		for (i = 1; i < argc; i++)
			(void)printf(
			    "# %s: %d inputs\n", argv[i], replay(argv[i]));
		return (0);
	}
	if (source == NULL)
		source = ".";
	(void)snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s.txt",
	    source, target_name(argv[0]));
	n = replay_corpus(path);
	empty = n <= 0;
	(void)printf(
	    "%sok 1 - %d inputs of the corpus\n", empty ? "not " : "", n);
	(void)snprintf(path, sizeof(path), "%s/tests/fuzz/cases/%s", source,
	    target_name(argv[0]));
	n = replay(path);
	(void)printf(
	    "ok 2 - %d inputs that were finds once\n1..2\n", n < 0 ? 0 : n);
	return (empty);
}
