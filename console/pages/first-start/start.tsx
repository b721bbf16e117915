/** The last step of the first start: the `cloud` block, a token, and waiting for the first state. */
import { Alert, Button, Group, Loader, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { account, organization as organizationQuery, workspaceNamed } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Link, LinkButton } from "../../ui/link.tsx";
import { inDays } from "../../ui/expiry-input.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { CodeToCopy, counted } from "../../ui/text.tsx";
import { cliConfiguration, cloudBlock, commands, firstResource, hostnameOf, isOverHttps } from "./cloud-block.ts";
import { Steps } from "./steps.tsx";

const everyMs = 2_000;
const tokenDays = 90;

export default function StartPage() {
  const { organization, workspace } = useParams({ from: "/inside/$organization/workspaces/$workspace" });
  const { search } = useAddress();
  const [token, setToken] = useState<string>();
  const values = { origin: location.origin, organization, workspace };
  const query = useQuery({
    ...workspaceNamed(organization, workspace),
    refetchInterval: ({ state }) => (state.data?.data.relationships["current-state-version"]?.data ? false : everyMs),
  });
  const isThere = Boolean(query.data?.data.relationships["current-state-version"]?.data);
  return (
    <Page
      title={`Set up ${workspace}`}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Workspaces", to: paths.workspaces(organization) },
        { label: workspace, to: paths.workspace(organization, workspace) },
      ]}
      actions={
        <LinkButton to={paths.workspace(organization, workspace)} variant={isThere ? "filled" : "default"}>
          Open workspace
        </LinkButton>
      }
    >
      <Stack maw="44rem" gap={0}>
        {search["first"] === "yes" && <Steps at={isThere ? 4 : 3} />}
        <Waiting isThere={isThere} resources={query.data?.data.attributes["resource-count"]} />
        <Section title="1. Create a token" about="Terraform and OpenTofu use it to sign in.">
          <CreateFirstToken organization={organization} workspace={workspace} token={token} onToken={setToken} />
        </Section>
        <Section
          title="2. Configure the CLI"
          about={
            isOverHttps(values) ? (
              <>
                Save this as <code>cadastre.tfrc</code> next to your configuration. Don't commit it.
              </>
            ) : (
              <>
                Save this as <code>cadastre.tfrc</code>. This server has no TLS and the CLI discovers hosts over HTTPS
                only, so the file also lists the services of <code>{hostnameOf(values)}</code>. Without TLS, tokens and
                states can be read on the network: use this on one machine only.
              </>
            )
          }
        >
          <CodeToCopy label="cadastre.tfrc" text={cliConfiguration(values, token ?? "YOUR TOKEN")} />
        </Section>
        <Section
          title="3. Add the cloud block"
          about={
            <>
              Add this to your configuration. To try it, save both blocks as <code>main.tf</code> in an empty folder.
            </>
          }
        >
          <CodeToCopy label="Cloud block" text={cloudBlock(values)} />
          <CodeToCopy label="Example resource" text={firstResource} />
        </Section>
        <Section title="4. Apply" about="With OpenTofu, use tofu instead of terraform.">
          <CodeToCopy label="Commands" text={commands} />
        </Section>
      </Stack>
    </Page>
  );
}

function Waiting({ isThere, resources }: { readonly isThere: boolean; readonly resources: number | null | undefined }) {
  return (
    <Alert color={isThere ? "teal" : "gray"} mb="lg" role="status">
      {isThere ? (
        <Text fw={600}>
          First state received{resources == null ? "" : `: ${counted(resources, "resource")}`}. Setup is complete.
        </Text>
      ) : (
        <Group gap="sm" wrap="nowrap">
          <Loader size={16} aria-hidden />
          <Text>Waiting for the first state… This page updates when it arrives.</Text>
        </Group>
      )}
    </Alert>
  );
}

interface FirstTokenProps {
  readonly organization: string;
  readonly workspace: string;
  readonly token: string | undefined;
  readonly onToken: (token: string) => void;
}

function CreateFirstToken({ organization, workspace, token, onToken }: FirstTokenProps) {
  const me = useQuery(account()).data?.data;
  const isTaken = useQuery(organizationQuery(organization)).data?.data.attributes["user-tokens-enabled"];
  const make = useAction("POST /users/{user_id}/authentication-tokens", {
    done: "Created a token. It is in the configuration below and is shown only once.",
    after: ({ data }) => onToken(data.attributes.token ?? ""),
  });
  if (isTaken === false)
    return (
      <Text>
        {organization} does not allow personal tokens. Create a token for a{" "}
        <Link to={paths.teams(organization)}>team</Link> and replace YOUR TOKEN with it.
      </Text>
    );
  if (token !== undefined)
    return (
      <Text>
        Token created. It is in the configuration below and expires in {tokenDays} days. You can revoke it in{" "}
        <Link to={paths.account()}>your account</Link>.
      </Text>
    );
  return (
    <Group gap="sm">
      <Button
        loading={make.isPending}
        disabled={!me}
        onClick={() =>
          make.mutate({
            path: { user_id: me!.id },
            body: {
              data: {
                type: "authentication-tokens",
                attributes: { description: `Terraform for ${workspace}`, "expired-at": inDays(tokenDays) },
              },
            },
          })
        }
      >
        Create token
      </Button>
      <Text c="dimmed" fz="sm">
        A personal token that expires in {tokenDays} days. You can also use an existing one.
      </Text>
    </Group>
  );
}
