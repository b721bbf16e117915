/** The transitions and routes of contents that can be soft-deleted, restored and permanently deleted. */

const softDeleted = "backing_data_soft_deleted";
const deleted = "backing_data_permanently_deleted";

export const backingDataTransitionsFor = <const Present extends string>(present: Present) =>
  ({
    "soft-delete": { from: present, to: softDeleted },
    restore: { from: softDeleted, to: present },
    "permanently-delete": { from: softDeleted, to: deleted },
  }) as const;

export type BackingDataAction = keyof ReturnType<typeof backingDataTransitionsFor>;

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
      summary: `Soft-delete ${thing} ${noun}; it can still be restored`,
    },
    restore: { ...common, path: action("restore backing data"), summary: `Restore a soft-deleted ${noun}` },
    permanentlyDelete: {
      ...common,
      path: action("permanently delete backing data"),
      summary: `Permanently delete a soft-deleted ${noun}`,
    },
  } as const;
};
