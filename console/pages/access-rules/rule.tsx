/** The pages of a new and of an existing rule. */
import { Box } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { Resource } from "../../api/client.ts";
import { accessRule } from "../../api/detail-queries.ts";
import { DeleteSection } from "../../components/settings.tsx";
import { QueryContent } from "../../components/states.tsx";
import { paths } from "../../paths.ts";
import { Page, Section } from "../../ui/page.tsx";
import { RuleForm } from "./form.tsx";
import { rulesCrumbs } from "./frame.tsx";
import { Violations } from "./violations.tsx";

export function NewRule() {
  const { organization } = useParams({ from: "/inside/$organization" });
  return (
    <Page
      title="New rule"
      crumbs={rulesCrumbs(organization)}
      about="A rule applies to every change of access after it is created. Existing access stays."
    >
      <Box maw="46rem">
        <RuleForm organization={organization} />
      </Box>
    </Page>
  );
}

export function RulePage() {
  const { organization, rule: id } = useParams({ from: "/inside/$organization/rules/$rule" });
  const query = useQuery(accessRule(id));
  return (
    <Page title={query.data?.data.attributes.name ?? " "} crumbs={rulesCrumbs(organization)}>
      <QueryContent query={query}>
        {({ data, etag }) => (
          <>
            <Box maw="46rem" mb="xl">
              <RuleForm key={id} organization={organization} known={{ data, etag }} />
            </Box>
            <RefusedToday organization={organization} rule={data} />
            <Danger organization={organization} rule={data} />
          </>
        )}
      </QueryContent>
    </Page>
  );
}

interface RuleDetails {
  readonly organization: string;
  readonly rule: Resource<"access-rules">;
}

function RefusedToday({ organization, rule }: RuleDetails) {
  const { enabled, enforcement, "updated-at": since } = rule.attributes;
  const isComputed = enabled && enforcement !== "advise";
  return (
    <Section
      title="Would be refused today"
      about={
        isComputed
          ? "Existing access that this rule would refuse if it were given today. It stays until someone removes it."
          : "Computed for enabled rules that forbid or require approval."
      }
    >
      {isComputed && <Violations organization={organization} rule={rule.id} newerThan={since} />}
    </Section>
  );
}

const Danger = ({ organization, rule: { id, attributes } }: RuleDetails) => (
  <DeleteSection
    one="rule"
    name={attributes.name}
    operation="DELETE /access-rules/{access_rule_id}"
    input={{ path: { access_rule_id: id } }}
    to={paths.accessRules(organization)}
  >
    Changes of access are no longer checked against this rule. You can't undo this.
  </DeleteSection>
);
