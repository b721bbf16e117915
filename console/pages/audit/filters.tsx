/** The filters of an audit log, kept in the address. */
import { Autocomplete, Button, Group, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState, type ReactNode } from "react";
import { includedIn } from "../../api/client.ts";
import { completeListQuery } from "../../api/queries.ts";
import type { SearchParameters } from "../../paths.ts";
import { inDays, instantOf, InstantInput } from "../../ui/expiry-input.tsx";
import { SearchInput } from "../../ui/inputs.tsx";
import { auditedActions, subjectTypes } from "./actions.ts";
import classes from "./timeline.module.css";
import { kindOf } from "./words.ts";

const ranges: Readonly<Record<string, number>> = { "1h": 1 / 24, "24h": 1, "7d": 7 };
const rangeLabels = [
  { value: "", label: "All time" },
  { value: "1h", label: "Last hour" },
  { value: "24h", label: "Last 24 hours" },
  { value: "7d", label: "Last 7 days" },
  { value: "custom", label: "Custom" },
];

export const noFilters: SearchParameters = {
  actor: undefined,
  action: undefined,
  kind: undefined,
  "subject-id": undefined,
  range: undefined,
  since: undefined,
  until: undefined,
};

const rangeOf = ({ range, since, until }: SearchParameters): string => range ?? (since || until ? "custom" : "");

export interface AuditSubject {
  readonly type: string;
  readonly id: string;
}

/** A quick range keeps its start, so that pages stay consistent. */
export function useFilters(search: SearchParameters, subject?: AuditSubject): Record<string, string> {
  const range = rangeOf(search);
  const begin = useMemo(() => {
    const days = ranges[range];
    return days === undefined ? undefined : inDays(-days);
  }, [range]);
  const isCustom = range === "custom";
  const all = {
    "filter[actor][id]": search["actor"],
    "filter[action]": search["action"],
    "filter[subject][type]": subject?.type ?? search["kind"],
    "filter[subject][id]": subject?.id ?? search["subject-id"],
    "filter[since]": isCustom ? instantOf(search["since"] ?? "") : begin,
    "filter[until]": isCustom ? instantOf(search["until"] ?? "") : undefined,
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => !!entry[1]));
}

interface AuditFiltersProps {
  readonly organization: string;
  readonly search: SearchParameters;
  readonly set: (changes: SearchParameters) => void;
  readonly isOfOne: boolean;
  readonly known: ReadonlyMap<string, string>;
  readonly actions: ReactNode;
}

export function Filters({ organization, search, set, isOfOne, known, actions }: AuditFiltersProps) {
  const range = rangeOf(search);
  const own = auditedActions.filter((action) => !search["kind"] || action.startsWith(`${search["kind"]}.`));
  return (
    <div role="search" aria-label="Filters" className={classes["filters"]}>
      <Group gap="xs">
        <Group gap={4} role="group" aria-label="Time range">
          {rangeLabels.map(({ value, label }) => (
            <Button
              key={value}
              size="xs"
              variant={value === range ? "light" : "default"}
              aria-pressed={value === range}
              onClick={() => set({ range: value, since: undefined, until: undefined })}
            >
              {label}
            </Button>
          ))}
        </Group>
        {actions}
      </Group>
      {range === "custom" && <CustomRange search={search} set={set} />}
      <div className={classes["fields"]}>
        <ActorSelect organization={organization} known={known} value={search["actor"]} set={set} />
        {!isOfOne && (
          <Select
            label="Resource type"
            placeholder="Any"
            data={subjectTypes.map((kind) => ({ value: kind, label: kindOf(kind) }))}
            value={search["kind"] ?? null}
            onChange={(kind) => set({ kind: kind ?? undefined, action: undefined })}
            searchable
            clearable
            clearButtonProps={{ "aria-label": "Clear resource type" }}
          />
        )}
        <Autocomplete
          key={search["action"] ?? ""}
          label="Action"
          placeholder="Any"
          data={own}
          limit={40}
          defaultValue={search["action"] ?? ""}
          onOptionSubmit={(action) => set({ action })}
          onBlur={({ currentTarget }) => set({ action: currentTarget.value })}
          clearable
          onClear={() => set({ action: undefined })}
          clearButtonProps={{ "aria-label": "Clear action" }}
        />
        {!isOfOne && (
          <SearchInput
            label="Resource ID"
            placeholder="Any"
            value={search["subject-id"]}
            onChange={(id) => set({ "subject-id": id })}
          />
        )}
      </div>
    </div>
  );
}

/** Instants in the address mean the same range in every time zone. */
function CustomRange({ search, set }: Pick<AuditFiltersProps, "search" | "set">) {
  return (
    <div className={classes["fields"]}>
      <InstantInput label="From" value={search["since"] ?? ""} onChange={(since) => set({ range: "custom", since })} />
      <InstantInput label="To" value={search["until"] ?? ""} onChange={(until) => set({ range: "custom", until })} />
    </div>
  );
}

interface ActorSelectProps extends Pick<AuditFiltersProps, "organization" | "known" | "set"> {
  readonly value: string | undefined;
}

/** Loads people and teams on opening; the log has the name of the selected one. */
function ActorSelect({ organization, known, value, set }: ActorSelectProps) {
  const [isOpened, setOpened] = useState(false);
  const actors = useActors(organization, isOpened);
  if (value !== undefined && !actors.has(value)) actors.set(value, known.get(value) ?? value);
  return (
    <Select
      label="Actor"
      placeholder="Anyone"
      data={[...actors].map(([id, label]) => ({ value: id, label }))}
      value={value ?? null}
      onChange={(actor) => set({ actor: actor ?? undefined })}
      onDropdownOpen={() => setOpened(true)}
      searchable
      clearable
      clearButtonProps={{ "aria-label": "Clear actor" }}
    />
  );
}

function useActors(organization: string, enabled: boolean): Map<string, string> {
  const path = { organization_name: organization };
  const people = useQuery({
    ...completeListQuery("GET /organizations/{organization_name}/organization-memberships", {
      path,
      query: { include: "user", "filter[status]": "active" },
    }),
    enabled,
  }).data;
  const teams = useQuery({
    ...completeListQuery("GET /organizations/{organization_name}/teams", { path }),
    enabled,
  }).data;
  const all = new Map<string, string>([["operator", "System"]]);
  for (const { relationships } of people?.data ?? []) {
    const user = includedIn(people, "users", relationships.user?.data?.id);
    if (user) all.set(user.id, user.attributes.username);
  }
  for (const { id, attributes } of teams?.data ?? []) all.set(id, `Team ${attributes.name}`);
  return all;
}
