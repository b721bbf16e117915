/** Loads the selected workspaces with their projects and tags, a hundred in each request. */
import { useQueries } from "@tanstack/react-query";
import { includedIn, type OperationResponse } from "../../api/client.ts";
import { apiQuery } from "../../api/queries.ts";
import type { MovableWorkspace } from "./effects.tsx";

const list = "GET /organizations/{organization_name}/workspaces";
const size = 100;

function chunksOf(ids: readonly string[]): (readonly string[])[] {
  const sorted = ids.toSorted();
  return Array.from({ length: Math.ceil(ids.length / size) }, (_, index) =>
    sorted.slice(index * size, (index + 1) * size),
  );
}

export function useSelectedWorkspaces(
  organization: string,
  ids: readonly string[],
): { readonly moved: readonly MovableWorkspace[] | undefined; readonly error: unknown } {
  const found = useQueries({
    queries: chunksOf(ids).map((some) =>
      apiQuery(list, {
        path: { organization_name: organization },
        query: { "filter[id]": some.join(","), "page[size]": size, include: "project,effective_tag_bindings" },
      }),
    ),
  });
  const error = found.find((query) => query.error)?.error;
  if (found.some(({ data }) => data === undefined)) return { moved: undefined, error };
  return { moved: found.flatMap(({ data }) => selectedWorkspaceOf(data!)), error: undefined };
}

function selectedWorkspaceOf(response: OperationResponse<typeof list>): MovableWorkspace[] {
  const tags = new Map(
    (response.included ?? [])
      .filter(({ type }: any) => type === "effective-tag-bindings")
      .map((binding: any) => [binding.id, binding]),
  );
  return response.data.map(({ id, attributes, relationships }) => {
    const project = includedIn(response, "projects", relationships.project?.data?.id);
    const own = (relationships as any)["effective-tag-bindings"]?.data ?? [];
    return {
      id,
      name: attributes.name,
      project: { id: relationships.project?.data?.id ?? "", name: project?.attributes.name ?? "another project" },
      tags: own.flatMap((one: any) => {
        const binding = tags.get(one.id) as any;
        return binding === undefined
          ? []
          : [{ ...binding.attributes, isInherited: binding.links?.["inherited-from"] !== undefined }];
      }),
    };
  });
}
