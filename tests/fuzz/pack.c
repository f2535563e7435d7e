/* SPDX-License-Identifier: MIT */
/*
 * Converts between a corpus of files, which libFuzzer reads and writes, and a
 * corpus as text, which git keeps (fuzz/corpus.h):
 *
 *	pack FILE|FOLDER...	prints the lines of the inputs, in any order
 *	pack -x FOLDER <TEXT	writes an input for each line, by its number
 */
#include <sys/stat.h>

#include <dirent.h>
#include <err.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/corpus.h"

static FILE *
open_file(const char *path, const char *mode)
{
	FILE *file = fopen(path, mode);

	if (file == NULL)
		err(1, "%s", path);
	return (file);
}

static void
pack_file(const char *path)
{
	FILE *file = open_file(path, "re");
	struct stat st;
	uint8_t *data;
	char *line;
	size_t n;

	if (fstat(fileno(file), &st) != 0)
		err(1, "%s", path);
	n = (size_t)st.st_size;
	data = malloc(n + 1);
	if (data == NULL || fread(data, 1, n, file) != n)
		err(1, "%s", path);
	line = corpus_line(data, n);
	if (puts(line) == EOF)
		err(1, "stdout");
	free(line);
	free(data);
	(void)fclose(file);
}

static void
pack(const char *path)
{
	char name[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	if ((dir = opendir(path)) == NULL) {
		pack_file(path);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(
		    name, sizeof(name), "%s/%s", path, entry->d_name);
		pack_file(name);
	}
	(void)closedir(dir);
}

static void
unpack_line(const char *line, const char *folder, int number)
{
	char name[PATH_MAX];
	uint8_t *data;
	FILE *file;
	size_t n;

	if ((data = corpus_input(line, &n)) == NULL)
		errx(1, "line %d is not a line of a corpus", number);
	(void)snprintf(name, sizeof(name), "%s/%05d", folder, number);
	file = open_file(name, "we");
	if (fwrite(data, 1, n, file) != n || fclose(file) != 0)
		err(1, "%s", name);
	free(data);
}

static void
unpack(const char *folder)
{
	char *line = NULL;
	size_t room = 0;
	int number = 0;

	while (getline(&line, &room, stdin) > 0) {
		line[strcspn(line, "\n")] = '\0';
		unpack_line(line, folder, ++number);
	}
	if (ferror(stdin))
		err(1, "stdin");
	free(line);
}

int
main(int argc, char **argv)
{
	int i;

	if (argc == 3 && strcmp(argv[1], "-x") == 0) {
		unpack(argv[2]);
		return (0);
	}
	if (argc < 2 || argv[1][0] == '-')
		errx(64, "usage: pack FILE|FOLDER... | pack -x FOLDER <TEXT");
	for (i = 1; i < argc; i++)
		pack(argv[i]);
	if (fflush(stdout) != 0)
		err(1, "stdout");
	return (0);
}
