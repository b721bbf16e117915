/** The contents of a state version: the state file, and optionally the engine's JSON output format. */
import { contentBytesMax, type ContentLimit, type ContentOwner } from "../../shared/contents/contents.ts";

export type StateContentKind = "state" | "json";

export const stateLimit: ContentLimit = { bytes: contentBytesMax, thing: "A state" };

export const stateVersionOwner = (id: string): ContentOwner => ({ column: "stateVersionId", id });
