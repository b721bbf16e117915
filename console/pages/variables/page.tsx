/** The variables passed to a workspace's runs, each with its source, by precedence. */
import { Badge, Button, Group, List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Resource } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Link } from "../../ui/link.tsx";
import { Section } from "../../ui/page.tsx";
import { SearchInput } from "../../ui/inputs.tsx";
import { QueryContent, Empty } from "../../components/states.tsx";
import { hasWords, Value } from "../../ui/text.tsx";
import { Table } from "../../ui/table.tsx";
import { WorkspaceFrame } from "../workspace/frame.tsx";
import type { WorkspaceDetails } from "../workspace/details.ts";
import { DeleteVariable, VariableForm } from "./form.tsx";
import { appliedVariableSets, ownVariables, effectiveVariables } from "../../api/detail-queries.ts";

export default function VariablesPage() {
  return <WorkspaceFrame>{(details) => <Variables details={details} />}</WorkspaceFrame>;
}

function Variables({ details }: { readonly details: WorkspaceDetails }) {
  const { workspace } = details;
  const inForce = useQuery(effectiveVariables(workspace.id));
  const own = useQuery(ownVariables(workspace.id));
  const sets = useQuery(appliedVariableSets(workspace.id));
  const { search, set } = useAddress();
  const [editing, setEditing] = useState<Resource<"vars"> | "new">();
  const canWrite = workspace.attributes.permissions["can-update-variable"] === true;
  return (
    <>
      <Section
        title="Variables"
        about="Variables passed to runs. If a key is set in several places, the highest in this order wins; the rest are struck through."
        actions={canWrite && <Button onClick={() => setEditing("new")}>Add variable</Button>}
      >
        <SearchInput
          aria-label="Search variables"
          placeholder="Search variables…"
          data-search
          value={search["q"]}
          onChange={(q) => set({ q })}
          w={{ base: "100%", xs: 240 }}
        />
        <QueryContent query={inForce}>
          {({ data }) => {
            const all = ranked(data, own.data?.data ?? [], sets.data?.data ?? [], sets.data?.included ?? []);
            const rows = all.filter(({ variable }) => hasWords(variable.attributes.key, search["q"] ?? ""));
            if (all.length === 0)
              return (
                <Empty title="No variables yet">
                  Runs get variables as Terraform input or as environment variables. Use a variable set to share
                  variables between workspaces.
                </Empty>
              );
            return <VariableTable details={details} rows={rows} canWrite={canWrite} onEdit={setEditing} />;
          }}
        </QueryContent>
      </Section>
      <Order details={details} sets={sets.data?.data ?? []} />
      {editing && (
        <VariableForm
          key={editing === "new" ? "new" : editing.id}
          workspaceId={workspace.id}
          variable={editing === "new" ? undefined : editing}
          onClose={() => setEditing(undefined)}
        />
      )}
    </>
  );
}

interface VariableTableProps {
  readonly details: WorkspaceDetails;
  readonly rows: readonly VariableWithSource[];
  readonly canWrite: boolean;
  readonly onEdit: (variable: Resource<"vars">) => void;
}

function VariableTable({ details, rows, canWrite, onEdit }: VariableTableProps) {
  const crossed = (given: VariableWithSource) =>
    given.overriddenBy === undefined ? undefined : ({ textDecoration: "line-through" } as const);
  return (
    <Table
      label="Variables"
      rows={rows}
      keyOf={({ variable }) => variable.id}
      columns={[
        {
          title: "Key",
          cell: (given) => (
            <span className="mono" style={crossed(given)} title={given.variable.attributes.description || undefined}>
              {given.variable.attributes.key}
            </span>
          ),
        },
        { title: "Value", cell: (given) => <ShownValue variable={given.variable} /> },
        {
          title: "Category",
          width: 110,
          isExtra: true,
          cell: ({ variable: { attributes } }) =>
            attributes.category === "env" ? "Environment" : attributes.hcl ? "Terraform, HCL" : "Terraform",
        },
        { title: "Source", width: 190, cell: (given) => <Source details={details} given={given} /> },
        {
          title: "",
          width: 130,
          cell: ({ variable, varset }) =>
            varset === undefined &&
            canWrite && (
              <Group gap={4} wrap="nowrap" justify="flex-end">
                <Button variant="subtle" size="compact-xs" onClick={() => onEdit(variable)}>
                  Edit
                </Button>
                <DeleteVariable workspaceId={details.workspace.id} variable={variable} />
              </Group>
            ),
        },
      ]}
    />
  );
}

function ShownValue({ variable: { attributes } }: { readonly variable: Resource<"vars"> }) {
  if (attributes.sensitive)
    return (
      <Badge color="gray" tt="none">
        sensitive
      </Badge>
    );
  return <Value value={attributes.value ?? ""} label={`Value of ${attributes.key}`} />;
}

function Source({
  details: { organization },
  given: { varset, overriddenBy },
}: {
  readonly details: WorkspaceDetails;
  readonly given: VariableWithSource;
}) {
  return (
    <>
      {varset === undefined ? (
        "Workspace"
      ) : (
        <Link to={paths.variableSet(organization, varset.id)}>{varset.attributes.name}</Link>
      )}
      {varset?.attributes.priority && (
        <Badge ml={6} tt="none" color="orange">
          priority
        </Badge>
      )}
      {overriddenBy && (
        <Text fz="sm" c="dimmed">
          Overridden by {overriddenBy}
        </Text>
      )}
    </>
  );
}

function Order({
  details: { organization },
  sets,
}: {
  readonly details: WorkspaceDetails;
  readonly sets: readonly Resource<"varsets">[];
}) {
  const listed = (isPriority: boolean) => {
    const some = sets.filter(({ attributes }) => attributes.priority === isPriority);
    return some.length === 0
      ? "none"
      : some.map(({ id, attributes }, index) => (
          <span key={id}>
            {index > 0 && ", "}
            <Link to={paths.variableSet(organization, id)}>{attributes.name}</Link>
          </span>
        ));
  };
  return (
    <Section title="Precedence" about="If a key is set in several places, the first in this list wins.">
      <List type="ordered" size="sm">
        <List.Item>Variable sets with priority: {listed(true)}</List.Item>
        <List.Item>Variables set for a single run</List.Item>
        <List.Item>Variables of this workspace</List.Item>
        <List.Item>
          Variable sets of this workspace, then of its project, then global ones, each by name: {listed(false)}
        </List.Item>
        <List.Item>Default values in the configuration</List.Item>
      </List>
    </Section>
  );
}

export interface VariableWithSource {
  readonly variable: Resource<"vars">;
  readonly varset: Resource<"varsets"> | undefined;
  readonly overriddenBy: string | undefined;
}

type VariableListRow = Pick<Resource<"vars">, "id" | "attributes" | "relationships">;

const slotOf = ({ attributes: { category, key } }: VariableListRow) => `${category} ${key}`;

export function ranked(
  inForce: readonly Resource<"vars">[],
  own: readonly Resource<"vars">[],
  sets: readonly Resource<"varsets">[],
  included: readonly any[],
): VariableWithSource[] {
  const setById = new Map(sets.map((varset) => [varset.id, varset]));
  const setOf = (variable: VariableListRow) => setById.get(variable.relationships.varset?.data?.id ?? "");
  const winners = new Map(inForce.map((variable) => [slotOf(variable), variable]));
  const all = new Map<string, Resource<"vars">>();
  const ofSets = included.filter((one): one is Resource<"vars"> => one.type === "vars");
  for (const variable of [...inForce, ...own, ...ofSets]) all.set(variable.id, variable);
  return [...all.values()]
    .map((variable) => {
      const winner = winners.get(slotOf(variable));
      const isInForce = winner === undefined || winner.id === variable.id;
      return {
        variable,
        varset: setOf(variable),
        overriddenBy: isInForce ? undefined : (setOf(winner)?.attributes.name ?? "this workspace"),
      };
    })
    .toSorted(
      (one, other) =>
        compare(one.variable.attributes.key, other.variable.attributes.key) ||
        compare(one.variable.attributes.category, other.variable.attributes.category) ||
        Number(one.overriddenBy !== undefined) - Number(other.overriddenBy !== undefined),
    );
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
