/** What is done for whoever is nobody yet, and is known elsewhere. */
export { flowSeconds, pathOfOurs } from "./flow.ts";
export { beginSignIn, finishSignIn } from "./sign-in.ts";
