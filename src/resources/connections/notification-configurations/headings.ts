/** What happened, in one line, whatever it is sent in. Pure. */
import type { Told } from "./happenings.ts";

/** One line, whatever it is sent in. */
export function headingOf({ configurationName }: { readonly configurationName: string }, told: Told): string {
  switch (told.about) {
    case "verification":
      return `Verification of ${configurationName}`;
    case "run":
      return `Run ${told.trigger === "run:created" ? "Created" : (statusWords[told.runStatus] ?? told.runStatus)}`;
    case "assessment":
      return assessmentWords[told.trigger];
    case "auto-destroy":
      return told.trigger === "workspace:auto_destroy_reminder"
        ? `The workspace will be destroyed at ${told.autoDestroyAt}`
        : told.error === null
          ? `The scheduled destroy run is ${told.runStatus}`
          : "The scheduled destroy run could not be started";
  }
}

const statusWords: Readonly<Record<string, string>> = {
  planning: "Planning",
  planned: "Needs Attention",
  planned_and_saved: "Needs Attention",
  planned_and_finished: "Planned and Finished",
  applying: "Applying",
  applied: "Applied",
  errored: "Errored",
  canceled: "Canceled",
  discarded: "Discarded",
};

const assessmentWords = {
  "assessment:drifted": "What is there has drifted from the configuration",
  "assessment:check_failure": "Checks have failed",
  "assessment:failed": "The assessment failed",
} as const;
