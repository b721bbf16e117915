/** What neighbours ask of providers. */
export { listChoices as providersToChooseFrom } from "./store.ts";
