/** Maximum token lifetimes, by kind of token. */
import { Stack, Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { apiQuery, organization as organizationQuery } from "../../api/queries.ts";
import { OperationForm, changesIn, useDraft } from "../../components/forms.tsx";
import { Section } from "../../ui/page.tsx";
import { QueryContent } from "../../components/states.tsx";
import { WholeNumberInput } from "../../ui/inputs.tsx";

const dayMs = 86_400_000;
const kinds = [
  ["organization", "Organization tokens, days"],
  ["team", "Team tokens, days"],
  ["user", "Personal tokens, days"],
  ["audit_trails", "Audit log token, days"],
] as const;
type Days = Record<(typeof kinds)[number][0], number | string>;

export function TokenLifetimes({ organization }: { readonly organization: string }) {
  const path = { organization_name: organization };
  const isOn = useQuery(organizationQuery(organization)).data?.data.attributes["max-ttl-enabled"] ?? false;
  const query = useQuery(apiQuery("GET /organizations/{organization_name}/token-ttl-policies", { path }));
  const toggle = useAction("PATCH /organizations/{organization_name}", {
    done: isOn ? "Token lifetime is no longer limited." : "Token lifetime is now limited.",
  });
  return (
    <Section
      title="Token lifetime"
      about="Tokens older than the limit stop working, even if they expire later or never."
    >
      <Switch
        label="Limit token lifetime"
        checked={isOn}
        disabled={toggle.isPending}
        onChange={() =>
          toggle.mutate({ path, body: { data: { type: "organizations", attributes: { "max-ttl-enabled": !isOn } } } })
        }
      />
      {isOn && (
        <QueryContent query={query}>
          {({ data }) => (
            <Limits
              key={data.map(({ attributes }) => attributes["max-ttl-ms"]).join()}
              organization={organization}
              days={
                Object.fromEntries(
                  kinds.map(([kind]) => {
                    const known = data.find(({ attributes }) => attributes["token-type"] === kind);
                    return [kind, known ? Math.round(known.attributes["max-ttl-ms"] / dayMs) : ""];
                  }),
                ) as Days
              }
            />
          )}
        </QueryContent>
      )}
    </Section>
  );
}

function Limits({ organization, days }: { readonly organization: string; readonly days: Days }) {
  const draft = useDraft<Days>(days);
  return (
    <OperationForm
      draft={draft}
      operation="PATCH /organizations/{organization_name}/token-ttl-policies"
      done="Saved the token limits."
      verb="Save limits"
      isReady={draft.isDirty()}
      input={() => ({
        path: { organization_name: organization },
        body: {
          data: {
            type: "organization-token-ttl-policies",
            attributes: {
              "token-ttl-policies": (Object.entries(changesIn(draft)) as [keyof Days, string][])
                .filter(([, value]) => value !== "")
                .map(([kind, value]) => ({ "token-type": kind, "max-ttl-ms": Number(value) * dayMs })),
            },
          },
        },
      })}
    >
      <Stack gap="xs">
        {kinds.map(([kind, label]) => (
          <WholeNumberInput key={kind} label={label} min={1} w={260} {...draft.getInputProps(kind)} />
        ))}
      </Stack>
    </OperationForm>
  );
}
