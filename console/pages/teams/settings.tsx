/** A team's settings: its name, visibility and organization permissions, and its deletion. */
import { Checkbox, Select, SimpleGrid, Stack, Switch, TextInput } from "@mantine/core";
import { team as teamQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { changesIn, useDraft } from "../../components/forms.tsx";
import { DeleteSection, SettingsForm } from "../../components/settings.tsx";
import { Section } from "../../ui/page.tsx";
import { counted } from "../../ui/text.tsx";
import { TeamFrame, type TeamDetails } from "./frame.tsx";
import { abilities, visibilities } from "./words.ts";

export default function TeamSettingsPage() {
  return (
    <TeamFrame>
      {(details) => (
        <Stack gap={0} maw="44rem" key={details.team.id}>
          <Settings {...details} />
          <OrganizationAccess {...details} />
          {details.team.attributes.permissions["can-destroy"] && <Danger {...details} />}
        </Stack>
      )}
    </TeamFrame>
  );
}

function Settings({ team, response }: TeamDetails) {
  const { attributes } = team;
  const draft = useDraft({
    name: attributes.name,
    description: attributes.description ?? "",
    visibility: attributes.visibility,
    "sso-team-id": attributes["sso-team-id"] ?? "",
    "allow-member-token-management": attributes["allow-member-token-management"],
  });
  const canUpdate = attributes.permissions["can-update"] === true;
  return (
    <SettingsForm
      draft={draft}
      operation="PATCH /teams/{team_id}"
      query={teamQuery(team.id)}
      etag={response.etag}
      canUpdate={canUpdate}
      done="Saved the team."
      input={(ifMatch) => {
        const { "sso-team-id": group, ...rest } = changesIn(draft);
        const attributes = { ...rest, ...(group !== undefined && { "sso-team-id": group || null }) };
        return { path: { team_id: team.id }, ifMatch, body: { data: { type: "teams", attributes } } };
      }}
    >
      <TextInput label="Name" {...draft.getInputProps("name")} />
      <TextInput label="Description" {...draft.getInputProps("description")} />
      <Select label="Visibility" data={visibilities} disabled={!canUpdate} {...draft.getInputProps("visibility")} />
      <TextInput
        label="Identity provider group"
        description="People who sign in with this group in their claims are members of the team."
        {...draft.getInputProps("sso-team-id")}
      />
      <Switch
        label="Members can manage the team's tokens"
        {...draft.getInputProps("allow-member-token-management", { type: "checkbox" })}
      />
    </SettingsForm>
  );
}

function OrganizationAccess({ team, response }: TeamDetails) {
  const held = team.attributes["organization-access"] as Readonly<Record<string, boolean>> | undefined;
  const draft = useDraft<Record<string, boolean>>(
    Object.fromEntries(abilities.map(({ name }) => [name, held?.[name] === true])),
  );
  const title = "Organization access";
  if (team.attributes.name === "owners")
    return (
      <Section title={title} about="Owners can do everything. This can't be changed.">
        {null}
      </Section>
    );
  return (
    <SettingsForm
      title={title}
      about="Permissions in the whole organization, in addition to grants on projects and workspaces."
      draft={draft}
      operation="PATCH /teams/{team_id}"
      query={teamQuery(team.id)}
      etag={response.etag}
      canUpdate={team.attributes.permissions["can-update-organization-access"] === true}
      readOnly="You can see these permissions, but not change them."
      verb="Save permissions"
      done="Saved the team."
      input={(ifMatch) => ({
        path: { team_id: team.id },
        ifMatch,
        body: { data: { type: "teams", attributes: { "organization-access": changesIn(draft) } } },
      })}
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
        {abilities.map(({ name, label, about }) => (
          <Checkbox key={name} label={label} description={about} {...draft.getInputProps(name, { type: "checkbox" })} />
        ))}
      </SimpleGrid>
    </SettingsForm>
  );
}

function Danger({ organization, team }: TeamDetails) {
  const { name, "users-count": count } = team.attributes;
  return (
    <DeleteSection
      one="team"
      name={name}
      about="Its members stay in the organization, but lose the access that only this team gives them."
      operation="DELETE /teams/{team_id}"
      input={{ path: { team_id: team.id } }}
      to={paths.teams(organization)}
    >
      This deletes the team {name}, its grants on projects and workspaces, and all its tokens.{" "}
      {counted(count, "person", "people")} can lose access. You can't undo this.
    </DeleteSection>
  );
}
