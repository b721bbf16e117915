/** Creates an organization; also the first step of the first start. */
import { Box, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { account } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { EmailInput } from "../../ui/inputs.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { useGo } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryContent, Empty } from "../../components/states.tsx";
import { Steps } from "./steps.tsx";

export default function NewOrganizationPage() {
  const me = useQuery(account());
  return (
    <Page title="New organization" crumbs={[{ label: "Organizations", to: paths.home() }]}>
      <QueryContent query={me}>
        {({ data: { attributes } }) =>
          attributes.permissions["can-create-organizations"] ? (
            <Box maw="34rem">
              <Steps at={0} />
              <NewOrganizationForm email={attributes.email} />
            </Box>
          ) : (
            <Empty title="Only site admins can create organizations">
              Ask a site admin to create one, or ask an owner to invite you to an existing one.
            </Empty>
          )
        }
      </QueryContent>
    </Page>
  );
}

function NewOrganizationForm({ email }: { readonly email: string | undefined }) {
  const go = useGo();
  const draft = useDraft({ name: "", email: email ?? "" });
  return (
    <OperationForm
      draft={draft}
      operation="POST /organizations"
      done={({ data }) => `Created organization ${data.attributes.name}.`}
      after={({ data }) => go(paths.newWorkspace(data.attributes.name, undefined, "yes"))}
      verb="Create organization"
      input={(attributes) => ({ body: { data: { type: "organizations", attributes } } })}
    >
      <TextInput
        label="Name"
        description="Letters, digits, - and _. Used in addresses and cloud blocks. You can change it later."
        {...draft.getInputProps("name")}
        autoFocus
        autoComplete="organization"
      />
      <EmailInput
        description="Where notifications about the organization are sent."
        {...draft.getInputProps("email")}
      />
    </OperationForm>
  );
}
