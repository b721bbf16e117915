/** Contents that belong to a version and can be hidden, restored and removed for good: what leads where, and the routes that do it. */

const hidden = "backing_data_soft_deleted";
const removed = "backing_data_permanently_deleted";

/** What each action leads from and to, for a version whose content is there while it is `present`. */
export const backingDataMovesOf = <const Present extends string>(present: Present) =>
  ({
    "soft-delete": { from: present, to: hidden },
    restore: { from: hidden, to: present },
    "permanently-delete": { from: hidden, to: removed },
  }) as const;

export type BackingDataMove = keyof ReturnType<typeof backingDataMovesOf>;

/** `thing` is whose content it is, `noun` what it is called. */
export const backingDataOperations = <const Path extends string, const Answer extends string>(
  byId: Path,
  answer: Answer,
  { thing, noun, separator = "_" }: { readonly thing: string; readonly noun: string; readonly separator?: "_" | "-" },
) => {
  const action = (words: string) =>
    `${byId}/actions/${words.replaceAll(" ", separator)}` as `${Path}/actions/${string}`;
  const common = { method: "POST", needs: "admin access to the workspace; self-hosted edition only", answer } as const;
  return {
    softDelete: {
      ...common,
      path: action("soft delete backing data"),
      summary: `Hide ${thing} ${noun}, so that it can still be restored`,
    },
    restore: { ...common, path: action("restore backing data"), summary: `Restore a hidden ${noun}` },
    permanentlyDelete: {
      ...common,
      path: action("permanently delete backing data"),
      summary: `Remove a hidden ${noun} for good`,
    },
  } as const;
};
