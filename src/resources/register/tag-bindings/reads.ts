/** What neighbours ask of key-value tags: what is in effect on their things. */
export { effectiveOnProjects, effectiveOnWorkspaces } from "./store.ts";
