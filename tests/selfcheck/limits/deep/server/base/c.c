/* SPDX-License-Identifier: MIT */
/* A sample. */
int
f(void)
{
	if (a) {
		if (b) {
			if (c) {
				while (d) {
					if (e) {
						g();
					}
				}
			}
		}
	}
}
