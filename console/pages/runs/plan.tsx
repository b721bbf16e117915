/** A plan by resource and module: additions, changes and deletions, with the difference of each attribute. */
import { Alert, Button, Group, SegmentedControl, Stack, Text, UnstyledButton } from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "../../api/errors.ts";
import { apiQuery } from "../../api/queries.ts";
import { useAddress } from "../../ui/address.ts";
import { SearchInput } from "../../ui/inputs.tsx";
import { QueryContent, Empty } from "../../components/states.tsx";
import { counted, hasWords } from "../../ui/text.tsx";
import { Differences } from "./differences.tsx";
import {
  type ActionInvocation,
  byModule,
  type PlannedChange,
  configurationOf,
  countsOf,
  planActionOf,
  displayedChangesOf,
  type PlanAction,
  type DisplayedChange,
  type Module,
  type Plan,
  triggerOf,
} from "./plan-view.ts";
import classes from "./plan.module.css";

export function PlanView({ planId }: { readonly planId: string }) {
  const query = useQuery({
    ...apiQuery("GET /plans/{plan_id}/json-output-redacted", { path: { plan_id: planId } }),
    // A plan is immutable.
    staleTime: Infinity,
  });
  if (query.error instanceof ApiError && query.error.isMissing)
    return <Empty title="No structured plan">See the plan log.</Empty>;
  return <QueryContent query={query}>{(response) => <DrawnPlan plan={response as Plan} />}</QueryContent>;
}

const actionLabels: Record<PlanAction, { readonly sign: string; readonly word: string; readonly variant: string }> = {
  create: { sign: "+", word: "add", variant: "create" },
  update: { sign: "~", word: "change", variant: "update" },
  replace: { sign: "∓", word: "replace", variant: "replace" },
  delete: { sign: "−", word: "destroy", variant: "delete" },
  read: { sign: "≤", word: "read", variant: "read" },
  import: { sign: "←", word: "import", variant: "read" },
  move: { sign: "→", word: "move", variant: "read" },
  forget: { sign: "∅", word: "forget", variant: "read" },
};

function DrawnPlan({ plan }: { readonly plan: Plan }) {
  const { search, set } = useAddress();
  const all = displayedChangesOf(plan.resource_changes);
  const drift = displayedChangesOf(plan.resource_drift);
  const outputs = Object.entries(plan.output_changes ?? {}).filter(([, change]) => planActionOf({ change }));
  const counts = countsOf(all);
  const shown = all.filter(
    ({ planAction, address }) =>
      (!search["action"] || planAction === search["action"]) && hasWords(address, search["find"] ?? ""),
  );
  const actions = plan.action_invocations ?? [];
  if (all.length + drift.length + outputs.length + actions.length === 0)
    return <Empty title="No changes">The infrastructure matches the configuration.</Empty>;
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <SearchInput
          aria-label="Search addresses"
          placeholder="Search addresses…"
          data-search
          value={search["find"]}
          onChange={(find) => set({ find })}
          w={200}
        />
        <SegmentedControl
          aria-label="Action"
          size="xs"
          value={search["action"] ?? ""}
          onChange={(planAction) => set({ action: planAction })}
          data={[
            { value: "", label: `All ${all.length}` },
            ...(Object.keys(actionLabels) as PlanAction[])
              .filter((planAction) => counts[planAction])
              .map((planAction) => ({
                value: planAction,
                label: `${actionLabels[planAction].sign} ${actionLabels[planAction].word} ${counts[planAction]}`,
              })),
          ]}
        />
      </Group>
      {plan.deferred_changes && plan.deferred_changes.length > 0 && (
        <Alert color="yellow" role="note">
          {counted(plan.deferred_changes.length, "change")} deferred. Start another run after this plan is applied.
        </Alert>
      )}
      {byModule(shown).map((module) => (
        <ModuleView key={module.address} module={module} isOpen={shown.length <= 60} />
      ))}
      {shown.length === 0 && all.length > 0 && <Text c="dimmed">No resources match.</Text>}
      {actions.length > 0 && (
        <Fold title={`${counted(actions.length, "action")} to invoke`} isOpen>
          {actions.map((action, index) => (
            <ActionView key={index} action={action} />
          ))}
        </Fold>
      )}
      {outputs.length > 0 && (
        <Fold title={counted(outputs.length, "output")} isOpen>
          {outputs.map(([name, change]) => (
            <ResourceView
              key={name}
              resource={{ address: name, label: name, change, planAction: planActionOf({ change }) ?? "update" }}
            />
          ))}
        </Fold>
      )}
      {drift.length > 0 && (
        <Fold
          title={`${counted(drift.length, "resource")} changed outside of runs since the last apply`}
          isOpen={false}
        >
          {drift.map((resource) => (
            <ResourceView key={resource.address} resource={resource} />
          ))}
        </Fold>
      )}
    </Stack>
  );
}

interface FoldProps {
  readonly title: React.ReactNode;
  readonly isOpen: boolean;
  readonly children: React.ReactNode;
}

function Fold({ title, isOpen, children }: FoldProps) {
  const [opened, setOpened] = useState(isOpen);
  return (
    <section className={classes["module"]}>
      <UnstyledButton className={classes["head"]} aria-expanded={opened} onClick={() => setOpened(!opened)}>
        {opened ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}
        {title}
      </UnstyledButton>
      {opened && children}
    </section>
  );
}

const pageSize = 100;

function ModuleView({ module, isOpen }: { readonly module: Module; readonly isOpen: boolean }) {
  const [shown, setShown] = useState(pageSize);
  const { address, resources, counts } = module;
  return (
    <Fold
      isOpen={isOpen}
      title={
        <>
          <span className="mono">{address === "" ? "root module" : address}</span>
          <Text span c="dimmed" fz="sm">
            {(Object.keys(counts) as PlanAction[])
              .map((planAction) => `${actionLabels[planAction].sign}${counts[planAction]}`)
              .join("  ")}
          </Text>
        </>
      }
    >
      {resources.slice(0, shown).map((resource) => (
        <ResourceView key={`${resource.address} ${resource.deposed ?? ""}`} resource={resource} />
      ))}
      {resources.length > shown && (
        <Button variant="subtle" onClick={() => setShown(shown + pageSize)}>
          Show more ({counted(resources.length, "resource")} in total)
        </Button>
      )}
    </Fold>
  );
}

const reasons: Readonly<Record<string, string>> = {
  replace_because_tainted: "it is tainted",
  replace_because_cannot_update: "it can't be updated in place",
  replace_by_request: "this run requested it",
  replace_by_triggers: "a resource that triggers its replacement changes",
  delete_because_no_resource_config: "it is no longer in the configuration",
  delete_because_no_module: "its module was removed",
  delete_because_count_index: "its index is beyond count",
  delete_because_each_key: "its key is no longer in for_each",
  delete_because_no_move_target: "it was moved to a resource that is not in the configuration",
  read_because_config_unknown: "its configuration has values that are known after apply",
  read_because_dependency_pending: "a dependency has pending changes",
};

function ResourceView({ resource }: { readonly resource: DisplayedChange }) {
  const { planAction, label, previous_address: moved, action_reason: reason, change } = resource;
  const { sign, word, variant } = actionLabels[planAction];
  return (
    <Row sign={sign} variant={variant} label={label} change={change} name={resource.address}>
      {word}
      {resource.deposed !== undefined && " deposed object"}
      {moved !== undefined && `, was ${moved}`}
      {change.importing?.id !== undefined && `, imported from ${change.importing.id}`}
      {reason !== undefined && reasons[reason] !== undefined && `, because ${reasons[reason]}`}
    </Row>
  );
}

const ActionView = ({ action }: { readonly action: ActionInvocation }) => (
  <Row sign="→" variant="read" label={action.address} change={configurationOf(action)} name={action.address}>
    invoke {triggerOf(action)}
  </Row>
);

interface RowProps {
  readonly sign: string;
  readonly variant: string;
  readonly label: string;
  readonly change: PlannedChange;
  readonly name: string;
  readonly children: React.ReactNode;
}

function Row({ sign, variant, label, change, name, children }: RowProps) {
  const [opened, setOpened] = useState(false);
  return (
    <div className={classes["resource"]}>
      <UnstyledButton className={classes["row"]} aria-expanded={opened} onClick={() => setOpened(!opened)}>
        <span className={`${classes["sign"]} ${classes[variant]}`} aria-hidden>
          {sign}
        </span>
        <span className={`mono ${classes["label"]}`}>{label}</span>
        <Text span c="dimmed" fz="sm">
          {children}
        </Text>
      </UnstyledButton>
      {opened && <Differences change={change} label={`Changes to ${name}`} />}
    </div>
  );
}
