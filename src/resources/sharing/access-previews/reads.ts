/** Reads of the access version and of workspaces' names, for access requests. */
export { accessVersionColumns, accessVersionOf, accessVersionText, firstInProjects } from "./store.ts";
