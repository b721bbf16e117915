/** What neighbours ask of key-value tags: what is in effect on their things. */
export { effectiveOnProjects, effectiveOnWorkspaces, type EffectiveBinding } from "./store.ts";
