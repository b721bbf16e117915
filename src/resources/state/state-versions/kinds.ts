/** What is stored of a state version: the state as the engine keeps it, and the form that it gives others. */
import { contentBytesMax, type ContentLimit, type ContentOwner } from "../../shared/contents/contents.ts";

export type ContentKind = "state" | "json";

export const stateLimit: ContentLimit = { bytes: contentBytesMax, thing: "A state" };

export const ofStateVersion = (id: string): ContentOwner => ({ column: "stateVersionId", id });
