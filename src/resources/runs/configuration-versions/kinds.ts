/** What is stored of a configuration version: the archive as it was sent, and the readme in it. */
import { contentBytesMax, type ContentLimit, type ContentOwner } from "../../shared/contents/contents.ts";

export type ContentKind = "archive" | "readme";

/** The archive's own limit is lower, and told by its reader. */
export const archiveLimit: ContentLimit = { bytes: contentBytesMax, thing: "A configuration" };

export const ofConfigurationVersion = (id: string): ContentOwner => ({ column: "configurationVersionId", id });
