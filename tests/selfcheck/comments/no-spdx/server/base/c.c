/*
 * A sample.
 */
