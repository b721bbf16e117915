/** Statuses after which nothing happens to a run any more. */
const finalStatuses = ["applied", "planned_and_finished", "errored", "canceled", "force_canceled", "discarded"];

export const isFinal = (status: string): boolean => finalStatuses.includes(status);
