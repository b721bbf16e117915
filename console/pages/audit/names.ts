/** The names of what events are about, where they don't say them. */
import { useQueries } from "@tanstack/react-query";
import { asking } from "../../api/queries.ts";
import { ownNameOf, type Event, type Names } from "./words.ts";

/** More than that on one page stay ids. */
const askedMax = 25;

/** By other events of the same thing; of workspaces, which most events are about, also by asking. One that is gone has its id alone. */
export function useNames(events: readonly Event[]): Names {
  const told = new Map<string, string>();
  for (const event of events) {
    const name = ownNameOf(event);
    if (name !== undefined && !told.has(event.attributes["subject-id"])) told.set(event.attributes["subject-id"], name);
  }
  const unnamed = events
    .filter(({ attributes: { "subject-type": type, action } }) => type === "workspaces" && !action.endsWith(".delete"))
    .map(({ attributes }) => attributes["subject-id"])
    .filter((id) => !told.has(id));
  const ids = [...new Set(unnamed)].slice(0, askedMax);
  const found = useQueries({
    queries: ids.map((id) => ({
      ...asking("GET /workspaces/{workspace_id}", { path: { workspace_id: id } }),
      staleTime: 60_000,
    })),
  });
  found.forEach(({ data }) => data && told.set(data.data.id, data.data.attributes.name));
  return told;
}
