/** What neighbours ask of comments. */
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import type { CommentView } from "./definition.ts";
import { findComments } from "./store.ts";

/** To show beside something of a run that the caller may see. */
export const commentsByIds = (
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  ids: readonly string[],
): Promise<CommentView[]> => findComments(tx, actor, { ids });
