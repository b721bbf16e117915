/** What runs of a workspace are given: every variable with where it comes from, in the order in which sources win. */
import { Badge, Button, Group, List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Resource } from "../../api/client.ts";
import { askingWhole } from "../../api/whole.ts";
import { asking } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Link } from "../../ui/link.tsx";
import { Section } from "../../ui/page.tsx";
import { SearchInput } from "../../ui/search-input.tsx";
import { Asked, Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Value } from "../../ui/value.tsx";
import { WorkspaceFrame } from "../workspace/frame.tsx";
import type { Place } from "../workspace/place.ts";
import { DeleteVariable, VariableForm } from "./form.tsx";
import { ranked, type Given } from "./sources.ts";

export default function VariablesPage() {
  return <WorkspaceFrame>{(place) => <Variables place={place} />}</WorkspaceFrame>;
}

function Variables({ place }: { readonly place: Place }) {
  const { workspace } = place;
  const path = { workspace_id: workspace.id };
  const inForce = useQuery(askingWhole("GET /workspaces/{workspace_id}/all-vars", { path }));
  const own = useQuery(asking("GET /workspaces/{workspace_id}/vars", { path }));
  const sets = useQuery(askingWhole("GET /workspaces/{workspace_id}/varsets", { path, query: { include: "vars" } }));
  const { search, set } = useAddress();
  const [editing, setEditing] = useState<Resource<"vars"> | "new">();
  const mayWrite = workspace.attributes.permissions["can-update-variable"] === true;
  const wanted = (search["q"] ?? "").toLowerCase();
  return (
    <>
      <Section
        title="Variables"
        about="What its runs are given. Where a key comes from several places, the first of them wins; the others are crossed out."
        actions={mayWrite && <Button onClick={() => setEditing("new")}>Add variable</Button>}
      >
        <SearchInput
          aria-label="Search keys"
          placeholder="Search keys…"
          data-search
          value={search["q"]}
          onChange={(q) => set({ q })}
          w={{ base: "100%", xs: 240 }}
        />
        <Asked query={inForce}>
          {({ data }) => {
            const all = ranked(data, own.data?.data ?? [], sets.data?.data ?? [], sets.data?.included ?? []);
            const rows = all.filter(({ variable }) => variable.attributes.key.toLowerCase().includes(wanted));
            if (all.length === 0)
              return (
                <Empty title="No variables">
                  Terraform gets them as input, or the environment that it runs in. Sets give the same ones to many
                  workspaces.
                </Empty>
              );
            return <VariableTable place={place} rows={rows} mayWrite={mayWrite} onEdit={setEditing} />;
          }}
        </Asked>
      </Section>
      <Order place={place} sets={sets.data?.data ?? []} />
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
  readonly place: Place;
  readonly rows: readonly Given[];
  readonly mayWrite: boolean;
  readonly onEdit: (variable: Resource<"vars">) => void;
}

function VariableTable({ place, rows, mayWrite, onEdit }: VariableTableProps) {
  const crossed = (given: Given) =>
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
          title: "For",
          width: 110,
          isExtra: true,
          cell: ({ variable: { attributes } }) =>
            attributes.category === "env" ? "environment" : attributes.hcl ? "Terraform, HCL" : "Terraform",
        },
        { title: "From", width: 190, cell: (given) => <Source place={place} given={given} /> },
        {
          title: "",
          width: 130,
          cell: ({ variable, varset }) =>
            varset === undefined &&
            mayWrite && (
              <Group gap={4} wrap="nowrap" justify="flex-end">
                <Button variant="subtle" size="compact-xs" onClick={() => onEdit(variable)}>
                  Edit
                </Button>
                <DeleteVariable workspaceId={place.workspace.id} variable={variable} />
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
  place: { organization },
  given: { varset, overriddenBy },
}: {
  readonly place: Place;
  readonly given: Given;
}) {
  return (
    <>
      {varset === undefined ? (
        "this workspace"
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
          not in force: {overriddenBy} wins
        </Text>
      )}
    </>
  );
}

function Order({
  place: { organization },
  sets,
}: {
  readonly place: Place;
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
    <Section title="Which wins" about="The first of these that has a key gives its value.">
      <List type="ordered" size="sm">
        <List.Item>Variable sets with priority: {listed(true)}</List.Item>
        <List.Item>The variables of a single run</List.Item>
        <List.Item>This workspace's own</List.Item>
        <List.Item>
          Sets for this workspace, then for its project, then global ones; each by name: {listed(false)}
        </List.Item>
        <List.Item>Defaults in the configuration</List.Item>
      </List>
    </Section>
  );
}
