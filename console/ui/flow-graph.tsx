/** A small graph: one node in the middle, its sources on the left, its targets on the right. */
import { Link } from "./link.tsx";
import classes from "./flow-graph.module.css";

export interface FlowNode {
  readonly key: string;
  readonly label: string;
  readonly to: string | undefined;
  readonly link: "solid" | "dashed";
}

interface FlowGraphProps {
  readonly label: string;
  readonly middle: string;
  readonly before: readonly FlowNode[];
  readonly after: readonly FlowNode[];
}

const rowHeight = 34;

export function FlowGraph({ label, middle, before, after }: FlowGraphProps) {
  const rows = Math.max(before.length, after.length, 1);
  const height = rows * rowHeight;
  return (
    <div role="group" aria-label={label} className={classes["graph"]} style={{ height }}>
      <Column nodes={before} height={height} />
      <Lines nodes={before} height={height} isBefore />
      <div className={classes["middle"]} title={middle}>
        <span>{middle}</span>
      </div>
      <Lines nodes={after} height={height} isBefore={false} />
      <Column nodes={after} height={height} />
    </div>
  );
}

const placeOf = (index: number, count: number, height: number) =>
  (height - count * rowHeight) / 2 + (index + 0.5) * rowHeight;

function Column({ nodes, height }: { readonly nodes: readonly FlowNode[]; readonly height: number }) {
  return (
    <ul className={classes["column"]}>
      {nodes.map(({ key, label, to }, index) => (
        <li key={key} style={{ top: placeOf(index, nodes.length, height) - 13 }} title={label}>
          {to === undefined ? (
            label
          ) : (
            <Link to={to} underline="hover">
              {label}
            </Link>
          )}
        </li>
      ))}
    </ul>
  );
}

interface LinesProps {
  readonly nodes: readonly FlowNode[];
  readonly height: number;
  readonly isBefore: boolean;
}

function Lines({ nodes, height, isBefore }: LinesProps) {
  return (
    <svg viewBox={`0 0 60 ${height}`} width={60} height={height} preserveAspectRatio="none" aria-hidden>
      {nodes.map(({ key, link }, index) => {
        const y = placeOf(index, nodes.length, height);
        const [from, to] = isBefore ? [y, height / 2] : [height / 2, y];
        return (
          <g key={key} className={classes["line"]}>
            <path
              d={`M 0 ${from} C 30 ${from}, 30 ${to}, 54 ${to}`}
              {...(link === "dashed" && { strokeDasharray: "4 3" })}
            />
            <path d={`M 54 ${to - 4} L 60 ${to} L 54 ${to + 4} Z`} className={classes["tip"]} />
          </g>
        );
      })}
    </svg>
  );
}
