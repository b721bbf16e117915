/** The repositories and branches that a connection can see at its provider. They are never stored. */
import { z } from "zod";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { type Parameter, InvalidParameter } from "../../../jsonapi/query.ts";
import { text } from "../../../jsonapi/schemas.ts";
import { repository as repositoryName } from "../../register/workspaces/definition.ts";

export interface RemoteName {
  readonly name: string;
}

const searchLengthMax = 256;
const search: Parameter<string> = {
  doc: "Only items whose name contains this text, ignoring case.",
  parse: (value) =>
    value.length <= searchLengthMax
      ? value
      : new InvalidParameter(`can't have more than ${searchLengthMax} characters`),
};
const repository: Parameter<string> = {
  doc: "The repository, as a workspace's `vcs-repo.identifier` names it.",
  required: true,
  parse: (value) => {
    const read = repositoryName.safeParse(value);
    return read.success ? read.data : new InvalidParameter(read.error.issues[0]?.message ?? "is invalid");
  },
};
const meta = z.object({
  "is-cut-short": z.boolean().meta({
    description: "Whether the list may be incomplete, because the provider has more items than were requested.",
  }),
});
const list = {
  method: "GET",
  answer: "list",
  mayConflict: true,
  needs:
    "an owner, a team with 'manage-vcs-settings', 'manage-workspaces' or 'manage-projects', or the organization's token",
} as const satisfies Partial<Operation>;

export const repositories = defineResource<RemoteName>()(({ readOnly }) => ({
  type: "repositories",
  doc: "A repository that a connection's token can read.",
  id: ({ name }) => name,
  isUncacheable: true,
  attributes: {
    identifier: readOnly(text(), "The repository's name, for a workspace's `vcs-repo.identifier`.", {
      from: ({ name }) => name,
    }),
  },
  relationships: {},
  operations: {
    listRepositories: {
      ...list,
      path: "/oauth-tokens/:oauth_token_id/repositories",
      summary: "List the repositories that a connection's token can read, in the provider's order. There is no total.",
      query: { paged: true, parameters: { "search[name]": search } },
      meta,
    },
  },
}));

export const branches = defineResource<RemoteName>()(({ readOnly }) => ({
  type: "branches",
  doc: "A branch of a repository that a connection's token can read.",
  id: ({ name }) => name,
  isUncacheable: true,
  attributes: { name: readOnly(text(), "The branch's name, for a workspace's `vcs-repo.branch`.") },
  relationships: {},
  operations: {
    listBranches: {
      ...list,
      path: "/oauth-tokens/:oauth_token_id/branches",
      summary:
        "List the branches of a repository that a connection's token can read, in the provider's order. There is no total.",
      query: { paged: true, parameters: { repository, "search[name]": search } },
      meta,
    },
  },
}));
