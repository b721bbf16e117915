/** Reads the encrypted chunks of contents in an object store, for backups that contain them. */
import { conflict } from "../../../kernel/errors.ts";
import { type ChunkedContent, chunksOfObject } from "./chunks.ts";
import type { ContentPlace } from "./content-place.ts";

/** Throws `conflict` for a content in another place. */
export function objectReader(place: ContentPlace | undefined): (content: ChunkedContent) => AsyncIterable<Uint8Array> {
  return (content) => {
    if (place === undefined || place.name !== content.place)
      throw conflict(
        `The content ${content.id} is in ${content.place}, which CADASTRE_CONTENTS does not name. Set it to that place, or make a backup with --without-contents.`,
      );
    return chunksOfObject(place, content);
  };
}
