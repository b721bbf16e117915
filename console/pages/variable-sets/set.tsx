/** A variable set: its variables, where it applies, its settings and its end. */
import { Box, Checkbox, Stack, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useAction } from "../../api/actions.ts";
import type { Answer } from "../../api/client.ts";
import { asking } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { ActionForm, changesIn, useDraft } from "../../ui/form.tsx";
import { useGo } from "../../ui/link.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { Asked } from "../../ui/states.tsx";
import { counted } from "../../ui/text.tsx";
import { whereOf } from "./page.tsx";
import { Variables } from "./variables.tsx";
import { Applied } from "./applied.tsx";

export type SetAnswer = Answer<"GET /varsets/{varset_id}">;
export interface SetPlace {
  readonly organization: string;
  readonly answer: SetAnswer;
}

const setQuery = (id: string) =>
  asking("GET /varsets/{varset_id}", { path: { varset_id: id }, query: { include: "projects,workspaces" } });

export default function VariableSetPage() {
  const { organization, set } = useParams({ strict: false }) as { organization: string; set: string };
  const query = useQuery(setQuery(set));
  const attributes = query.data?.data.attributes;
  return (
    <Page
      title={attributes?.name ?? " "}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Variable sets", to: paths.variableSets(organization) },
      ]}
      about={attributes?.description}
    >
      <Asked query={query}>
        {(answer) => (
          <Stack gap={0} maw="60rem" key={set}>
            <Variables organization={organization} answer={answer} />
            <Applied organization={organization} answer={answer} />
            {answer.data.attributes.permissions["can-update"] && (
              <>
                <Settings organization={organization} answer={answer} />
                <Danger organization={organization} answer={answer} />
              </>
            )}
          </Stack>
        )}
      </Asked>
    </Page>
  );
}

function Settings({ answer: { data: set, etag } }: SetPlace) {
  const client = useQueryClient();
  const { name, description, global, priority } = set.attributes;
  const draft = useDraft({ name, description: description ?? "", global, priority });
  const save = useAction("PATCH /varsets/{varset_id}", {
    done: "Saved the variable set.",
    refusal: "form",
    after: () => draft.resetDirty(),
  });
  return (
    <Section title="Settings">
      <Box maw="34rem">
        <ActionForm
          draft={draft}
          action={save}
          verb="Save"
          etag={etag}
          reload={async () => (await client.fetchQuery({ ...setQuery(set.id), staleTime: 0 })).etag}
          isReady={draft.isDirty()}
          input={(_, version) => ({
            path: { varset_id: set.id },
            ifMatch: version,
            body: { data: { type: "varsets", attributes: changesIn(draft) } },
          })}
        >
          <TextInput label="Name" {...draft.getInputProps("name")} />
          <TextInput label="Description" {...draft.getInputProps("description")} />
          <Checkbox
            label="For every workspace of the organization"
            description="It then forgets the projects and workspaces that were chosen one by one."
            {...draft.getInputProps("global", { type: "checkbox" })}
          />
          <Checkbox
            label="Its variables win"
            description="Over a workspace's own, and over those that are given on the command line."
            {...draft.getInputProps("priority", { type: "checkbox" })}
          />
        </ActionForm>
      </Box>
    </Section>
  );
}

function Danger({ organization, answer: { data: set } }: SetPlace) {
  const go = useGo();
  const { name, "var-count": count } = set.attributes;
  const remove = useAction("DELETE /varsets/{varset_id}", {
    done: `Deleted the variable set ${name}.`,
    after: () => go(paths.variableSets(organization), { replace: true }),
  });
  return (
    <Section title="Delete">
      <Box>
        <DangerButton
          verb="Delete this variable set"
          title={`Delete the variable set ${name}?`}
          typed={name}
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate({ path: { varset_id: set.id } })}
        >
          {counted(count, "variable")} go with it. It applies to {whereOf(set)}; runs there are not given them any more.
          That can't be taken back.
        </DangerButton>
      </Box>
    </Section>
  );
}
