/** "Name your organization": the first step of a first start, and how any further organization is made. */
import { Box, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { account } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { ActionForm, useDraft } from "../../ui/form.tsx";
import { useGo } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Asked, Empty } from "../../ui/states.tsx";
import { Steps } from "./steps.tsx";

export default function NewOrganizationPage() {
  const me = useQuery(account());
  return (
    <Page title="Name your organization" crumbs={[{ label: "Organizations", to: paths.home() }]}>
      <Asked query={me}>
        {({ data: { attributes } }) =>
          attributes.permissions["can-create-organizations"] ? (
            <Box maw="34rem">
              <Steps at={0} />
              <NewOrganizationForm email={attributes.email} />
            </Box>
          ) : (
            <Empty title="Organizations are made by site admins here">
              Ask one of them to make yours, or to invite you to one that is there already.
            </Empty>
          )
        }
      </Asked>
    </Page>
  );
}

function NewOrganizationForm({ email }: { readonly email: string | undefined }) {
  const go = useGo();
  const draft = useDraft({ name: "", email: email ?? "" });
  const create = useAction("POST /organizations", {
    done: ({ data }) => `Made the organization ${data.attributes.name}.`,
    refusal: "form",
    after: ({ data }) => go(paths.newWorkspace(data.attributes.name, undefined, "yes")),
  });
  return (
    <ActionForm
      draft={draft}
      action={create}
      verb="Make the organization"
      input={(attributes) => ({ body: { data: { type: "organizations", attributes } } })}
    >
      <TextInput
        label="Name"
        description="Letters, digits, - and _. It is part of every address and of the cloud block, and can be changed."
        {...draft.getInputProps("name")}
        autoFocus
        autoComplete="organization"
      />
      <TextInput
        label="E-mail"
        description="Where the organization's notices go."
        type="email"
        {...draft.getInputProps("email")}
      />
    </ActionForm>
  );
}
