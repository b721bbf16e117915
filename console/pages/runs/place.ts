/** A run with what belongs to it, as the parts of its page show it. */
import type { Resource } from "../../api/client.ts";

export interface RunPlace {
  readonly organization: string;
  readonly name: string;
  readonly run: Resource<"runs">;
  readonly plan: Resource<"plans"> | undefined;
  readonly apply: Resource<"applies"> | undefined;
  readonly included: readonly any[] | undefined;
}
