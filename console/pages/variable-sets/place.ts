/** A variable set, as the parts of its page show it. */
import type { Answer } from "../../api/client.ts";

export interface SetPlace {
  readonly organization: string;
  readonly answer: Answer<"GET /varsets/{varset_id}">;
}
