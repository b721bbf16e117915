/** The audit trail of an organization, or of one thing in it, with its filters in the address. */
import { Autocomplete, Button, Group, Select, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call, includedIn, type Answer } from "../../api/client.ts";
import { auditActions } from "../../api/schema.gen.ts";
import { askingWhole } from "../../api/whole.ts";
import { useAddress, type Search } from "../../ui/address.ts";
import { Empty, LoadingRows, Refusal } from "../../ui/states.tsx";
import { instantOf } from "../../ui/moment.tsx";
import { Timeline } from "./timeline.tsx";
import { kindOf } from "./words.ts";

export interface AuditTrailProps {
  readonly organization: string;
  /** Only of this thing. */
  readonly subject?: { readonly type: string; readonly id: string };
}

const kinds = [...new Set(auditActions.map((action) => action.slice(0, action.indexOf("."))))];
const operation = "GET /organizations/{organization_name}/audit-events";
type Page = Answer<typeof operation>;

export function AuditTrail({ organization, subject }: AuditTrailProps) {
  const { search, set } = useAddress();
  const filters = filtersOf(search, subject);
  const input = { path: { organization_name: organization }, query: { ...filters, "page[size]": 50 } };
  const query = useInfiniteQuery({
    queryKey: [operation, input, "all"],
    queryFn: ({ pageParam, signal }) =>
      call(operation, { ...input, query: { ...input.query, "page[cursor]": pageParam } }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextOf,
  });
  const events = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const isFiltered = Object.keys(filtersOf(search)).length > 0;
  return (
    <>
      <Filters organization={organization} search={search} set={set} isOfOne={subject !== undefined} />
      {query.isError && <Refusal error={query.error} onRetry={() => void query.refetch()} />}
      {query.isLoading && <LoadingRows rows={12} />}
      {query.isSuccess && events.length === 0 && (
        <Empty
          title="Nothing happened that is like that"
          action={
            isFiltered && (
              <Button variant="default" onClick={() => set(nothing)}>
                Show everything
              </Button>
            )
          }
        >
          Every change leaves an event here in the moment in which it is made.
        </Empty>
      )}
      <Timeline
        organization={organization}
        events={events}
        hasMore={query.hasNextPage}
        isLoading={query.isFetchingNextPage}
        onMore={() => void query.fetchNextPage()}
        onActor={(actor) => set({ actor })}
      />
    </>
  );
}

const nothing: Search = { actor: undefined, action: undefined, kind: undefined, since: undefined, until: undefined };

function nextOf(page: Page): string | undefined {
  const next = (page as { links?: { next?: string | null } }).links?.next;
  return next ? (new URL(next, location.origin).searchParams.get("page[cursor]") ?? undefined) : undefined;
}

/** What the address says, as the API asks for it. */
function filtersOf(search: Search, subject?: AuditTrailProps["subject"]): Record<string, string> {
  const all = {
    "filter[actor][id]": search["actor"],
    "filter[action]": search["action"],
    "filter[subject][type]": subject?.type ?? search["kind"],
    "filter[subject][id]": subject?.id ?? search["thing"],
    "filter[since]": instantOf(search["since"] ?? ""),
    "filter[until]": instantOf(search["until"] ?? ""),
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => !!entry[1]));
}

interface FiltersProps {
  readonly organization: string;
  readonly search: Search;
  readonly set: (changes: Search) => void;
  readonly isOfOne: boolean;
}

function Filters({ organization, search, set, isOfOne }: FiltersProps) {
  const [isChoosing, setChoosing] = useState(search["actor"] !== undefined);
  const actors = useActors(organization, search["actor"], isChoosing);
  const own = auditActions.filter((action) => !search["kind"] || action.startsWith(`${search["kind"]}.`));
  return (
    <Group mb="md" gap="xs" role="search" aria-label="Filters of the trail">
      <Select
        aria-label="Who"
        placeholder="Anybody"
        data={actors}
        value={search["actor"] ?? null}
        onChange={(actor) => set({ actor: actor ?? undefined })}
        onFocus={() => setChoosing(true)}
        searchable
        clearable
        clearButtonProps={{ "aria-label": "Anybody" }}
        w={170}
      />
      {!isOfOne && (
        <Select
          aria-label="Kind of thing"
          placeholder="Anything"
          data={kinds.map((kind) => ({ value: kind, label: kindOf(kind) }))}
          value={search["kind"] ?? null}
          onChange={(kind) => set({ kind: kind ?? undefined, action: undefined })}
          searchable
          clearable
          clearButtonProps={{ "aria-label": "Anything" }}
          w={170}
        />
      )}
      <Autocomplete
        key={search["action"] ?? ""}
        aria-label="Action"
        placeholder="Any action"
        size="sm"
        data={own}
        limit={40}
        defaultValue={search["action"] ?? ""}
        onOptionSubmit={(action) => set({ action })}
        onBlur={({ currentTarget }) => set({ action: currentTarget.value })}
        clearable
        onClear={() => set({ action: undefined })}
        clearButtonProps={{ "aria-label": "Any action" }}
        w={200}
      />
      <TextInput
        type="datetime-local"
        aria-label="From this moment on"
        value={search["since"] ?? ""}
        onChange={({ currentTarget }) => set({ since: currentTarget.value })}
      />
      <TextInput
        type="datetime-local"
        aria-label="Before this moment"
        value={search["until"] ?? ""}
        onChange={({ currentTarget }) => set({ until: currentTarget.value })}
      />
    </Group>
  );
}

/** People and teams act; so may somebody who is no longer here. */
function useActors(
  organization: string,
  chosen: string | undefined,
  enabled: boolean,
): { value: string; label: string }[] {
  const path = { organization_name: organization };
  const people = useQuery({
    ...askingWhole("GET /organizations/{organization_name}/organization-memberships", {
      path,
      query: { include: "user", "filter[status]": "active" },
    }),
    enabled,
  }).data;
  const teams = useQuery({ ...askingWhole("GET /organizations/{organization_name}/teams", { path }), enabled }).data;
  const all = new Map<string, string>([["operator", "the command line"]]);
  for (const { relationships } of people?.data ?? []) {
    const user = includedIn(people, "users", relationships.user?.data?.id);
    if (user) all.set(user.id, user.attributes.username);
  }
  for (const { id, attributes } of teams?.data ?? []) all.set(id, `team ${attributes.name}`);
  if (chosen !== undefined && !all.has(chosen)) all.set(chosen, chosen);
  return [...all].map(([value, label]) => ({ value, label }));
}
