/** A team's own settings: its name, who may know of it, what it may do in the whole organization, and its end. */
import { Box, Checkbox, Select, SimpleGrid, Stack, Switch, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { team as teamQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { ActionForm, changesIn, useDraft } from "../../ui/form.tsx";
import { useGo } from "../../ui/link.tsx";
import { Section } from "../../ui/page.tsx";
import { counted } from "../../ui/text.tsx";
import { TeamFrame, type TeamPlace } from "./frame.tsx";
import { abilities, visibilities } from "./words.ts";

export default function TeamSettingsPage() {
  return (
    <TeamFrame>
      {(place) => (
        <Stack gap={0} maw="44rem" key={place.team.id}>
          <Settings {...place} />
          <OrganizationAccess {...place} />
          {place.team.attributes.permissions["can-destroy"] && <Danger {...place} />}
        </Stack>
      )}
    </TeamFrame>
  );
}

function useSaving({ team }: TeamPlace, after: () => void) {
  const client = useQueryClient();
  return {
    save: useAction("PATCH /teams/{team_id}", { done: "Saved the team.", refusal: "form", after }),
    reload: async () => (await client.fetchQuery({ ...teamQuery(team.id), staleTime: 0 })).etag,
  };
}

function Settings(place: TeamPlace) {
  const { team, answer } = place;
  const { attributes } = team;
  const draft = useDraft({
    name: attributes.name,
    description: attributes.description ?? "",
    visibility: attributes.visibility,
    "sso-team-id": attributes["sso-team-id"] ?? "",
    "allow-member-token-management": attributes["allow-member-token-management"],
  });
  const { save, reload } = useSaving(place, () => draft.resetDirty());
  const mayUpdate = attributes.permissions["can-update"] === true;
  return (
    <Section title="Settings" {...(!mayUpdate && { about: "You may read these settings, not change them." })}>
      <ActionForm
        draft={draft}
        action={save}
        verb="Save"
        etag={answer.etag}
        reload={reload}
        isReady={mayUpdate && draft.isDirty()}
        input={(_, version) => {
          const { "sso-team-id": group, ...rest } = changesIn(draft);
          const attributes = { ...rest, ...(group !== undefined && { "sso-team-id": group || null }) };
          return { path: { team_id: team.id }, ifMatch: version, body: { data: { type: "teams", attributes } } };
        }}
      >
        <TextInput label="Name" disabled={!mayUpdate} {...draft.getInputProps("name")} />
        <TextInput label="Description" disabled={!mayUpdate} {...draft.getInputProps("description")} />
        <Select
          label="Who may know of it"
          data={visibilities}
          disabled={!mayUpdate}
          {...draft.getInputProps("visibility")}
        />
        <TextInput
          label="Group at the identity provider"
          description="Whoever signs in with this group in their claims is in the team."
          disabled={!mayUpdate}
          {...draft.getInputProps("sso-team-id")}
        />
        <Switch
          label="Members may manage the team's tokens"
          disabled={!mayUpdate}
          {...draft.getInputProps("allow-member-token-management", { type: "checkbox" })}
        />
      </ActionForm>
    </Section>
  );
}

function OrganizationAccess(place: TeamPlace) {
  const { team, answer } = place;
  const held = team.attributes["organization-access"] as Readonly<Record<string, boolean>> | undefined;
  const draft = useDraft<Record<string, boolean>>(
    Object.fromEntries(abilities.map(({ name }) => [name, held?.[name] === true])),
  );
  const { save, reload } = useSaving(place, () => draft.resetDirty());
  const mayUpdate = team.attributes.permissions["can-update-organization-access"] === true;
  if (team.attributes.name === "owners")
    return (
      <Section title="In the whole organization" about="Owners may do everything. That can't be changed.">
        {null}
      </Section>
    );
  return (
    <Section
      title="In the whole organization"
      about="What the team may do everywhere, beside what it is granted on single projects and workspaces."
    >
      <ActionForm
        draft={draft}
        action={save}
        verb="Save the access"
        etag={answer.etag}
        reload={reload}
        isReady={mayUpdate && draft.isDirty()}
        input={(_, version) => ({
          path: { team_id: team.id },
          ifMatch: version,
          body: { data: { type: "teams", attributes: { "organization-access": changesIn(draft) } } } as never,
        })}
      >
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
          {abilities.map(({ name, label, about }) => (
            <Checkbox
              key={name}
              label={label}
              description={about}
              disabled={!mayUpdate}
              {...draft.getInputProps(name, { type: "checkbox" })}
            />
          ))}
        </SimpleGrid>
      </ActionForm>
    </Section>
  );
}

function Danger({ organization, team }: TeamPlace) {
  const go = useGo();
  const { name, "users-count": count } = team.attributes;
  const remove = useAction("DELETE /teams/{team_id}", {
    done: `Deleted the team ${name}.`,
    after: () => go(paths.teams(organization), { replace: true }),
  });
  return (
    <Section title="Delete" about="Its people stay in the organization, without whatever only this team gave them.">
      <Box>
        <DangerButton
          verb="Delete this team"
          title={`Delete the team ${name}?`}
          typed={name}
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate({ path: { team_id: team.id } })}
        >
          The team {name} goes, with its grants on projects and workspaces and all its tokens.{" "}
          {counted(count, "person", "people")} may lose access. That can't be taken back.
        </DangerButton>
      </Box>
    </Section>
  );
}
