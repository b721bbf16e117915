/** Whom the functions ask for that write what comes from version control, or goes there. */

/** What a connection's secret shows to be its provider's, what follows from a change that was granted, and the jobs that work it off. */
export type FromVersionControl = "version control";
