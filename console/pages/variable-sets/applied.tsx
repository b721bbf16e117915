/** What a variable set applies to. */
import { Text } from "@mantine/core";
import { useAction } from "../../api/actions.ts";
import { includedIn, type Answer } from "../../api/client.ts";
import { ChosenThings } from "../../components/pickers.tsx";
import { Section } from "../../ui/page.tsx";

export function Applied(place: SetPlace) {
  const { data: set } = place.answer;
  if (set.attributes.global)
    return (
      <Section title="Applies to">
        <Text>All workspaces of the organization.</Text>
      </Section>
    );
  return (
    <Section title="Applies to" about="All workspaces in these projects, and these workspaces.">
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
  const path = { varset_id: set.id };
  // One is like the other but for the word.
  const add = useAction(
    `POST /varsets/{varset_id}/relationships/${kind}` as "POST /varsets/{varset_id}/relationships/projects",
    { done: "Added. The next runs there get these variables." },
  );
  const remove = useAction(
    `DELETE /varsets/{varset_id}/relationships/${kind}` as "DELETE /varsets/{varset_id}/relationships/projects",
    { done: "Removed. The next runs there no longer get these variables." },
  );
  const bodyOf = (id: string) => ({ data: [{ type: kind as "projects", id }] });
  const chosen = set.relationships[kind]?.data ?? [];
  return (
    <ChosenThings
      organization={organization}
      kind={kind}
      label={kind === "projects" ? "Projects" : "Workspaces"}
      chosen={chosen.map(({ id }) => ({ id, name: includedIn(answer, kind, id)?.attributes.name }))}
      change={
        set.attributes.permissions["can-update"]
          ? {
              onAdd: (id) => add.mutate({ path, body: bodyOf(id) }),
              onRemove: (id) => remove.mutate({ path, body: bodyOf(id) }),
            }
          : undefined
      }
    />
  );
}

export interface SetPlace {
  readonly organization: string;
  readonly answer: Answer<"GET /varsets/{varset_id}">;
}
