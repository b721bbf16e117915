/** Where a variable set applies: everywhere, or to the projects and workspaces that were chosen. */
import { ActionIcon, Badge, Group, Select, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { includedIn } from "../../api/client.ts";
import { askingOn } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Link } from "../../ui/link.tsx";
import { Section } from "../../ui/page.tsx";
import type { SetPlace } from "./set.tsx";

export function Applied(place: SetPlace) {
  const { data: set } = place.answer;
  if (set.attributes.global)
    return (
      <Section title="Where it applies">
        <Text>To every workspace of the organization.</Text>
      </Section>
    );
  return (
    <Section title="Where it applies" about="To every workspace of these projects, and to these workspaces.">
      <Chosen place={place} kind="projects" />
      <Chosen place={place} kind="workspaces" />
    </Section>
  );
}

interface ChosenProps {
  readonly place: SetPlace;
  readonly kind: "projects" | "workspaces";
}

function Chosen({ place: { organization, answer }, kind }: ChosenProps) {
  const { data: set } = answer;
  const mayUpdate = set.attributes.permissions["can-update"];
  const path = { varset_id: set.id };
  // One is like the other but for the word.
  const add = useAction(
    `POST /varsets/{varset_id}/relationships/${kind}` as "POST /varsets/{varset_id}/relationships/projects",
    {
      done: "It applies there from the next run on.",
    },
  );
  const remove = useAction(
    `DELETE /varsets/{varset_id}/relationships/${kind}` as "DELETE /varsets/{varset_id}/relationships/projects",
    { done: "It does not apply there any more." },
  );
  const bodyOf = (id: string) => ({ data: [{ type: kind as "projects", id }] });
  const chosen = set.relationships[kind]?.data ?? [];
  return (
    <Group gap="xs">
      {chosen.map(({ id }) => {
        const name = includedIn(answer, kind, id)?.attributes.name ?? id;
        return (
          <Badge
            key={id}
            tt="none"
            fw={400}
            size="lg"
            variant="default"
            rightSection={
              mayUpdate && (
                <ActionIcon
                  size="xs"
                  variant="subtle"
                  color="gray"
                  aria-label={`Take it from ${name}`}
                  onClick={() => remove.mutate({ path, body: bodyOf(id) })}
                >
                  <IconX size={12} />
                </ActionIcon>
              )
            }
          >
            {kind === "projects" ? "project " : ""}
            <Link to={kind === "projects" ? paths.project(organization, id) : paths.workspace(organization, name)}>
              {name}
            </Link>
          </Badge>
        );
      })}
      {mayUpdate && (
        <Found
          organization={organization}
          kind={kind}
          without={chosen.map(({ id }) => id)}
          onChoose={(id) => add.mutate({ path, body: bodyOf(id) })}
        />
      )}
    </Group>
  );
}

interface FoundProps {
  readonly organization: string;
  readonly kind: "projects" | "workspaces";
  readonly without: readonly string[];
  readonly onChoose: (id: string) => void;
}

/** Found as one types, by the server. */
function Found({ organization, kind, without, onChoose }: FoundProps) {
  const [typed, setTyped] = useState("");
  const [text] = useDebouncedValue(typed.trim(), 150);
  const path = { organization_name: organization };
  const size = { "page[size]": 20 };
  const projects = useQuery({
    ...askingOn("GET /organizations/{organization_name}/projects", { path, query: { q: text, ...size } }),
    enabled: kind === "projects",
  });
  const workspaces = useQuery({
    ...askingOn("GET /organizations/{organization_name}/workspaces", {
      path,
      query: { "search[name]": text, ...size },
    }),
    enabled: kind === "workspaces",
  });
  const found = (kind === "projects" ? projects.data?.data : workspaces.data?.data) ?? [];
  return (
    <Select
      aria-label={kind === "projects" ? "Add a project" : "Add a workspace"}
      placeholder={kind === "projects" ? "Add a project" : "Add a workspace"}
      data={found
        .filter(({ id }) => !without.includes(id))
        .map(({ id, attributes }) => ({ value: id, label: attributes.name }))}
      value={null}
      onChange={(id) => {
        setTyped("");
        if (id) onChoose(id);
      }}
      searchable
      filter={({ options }) => options}
      searchValue={typed}
      onSearchChange={setTyped}
      nothingFoundMessage="None is called like that"
      w={200}
    />
  );
}
