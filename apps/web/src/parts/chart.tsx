import { Text } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

interface ChartProps {
  readonly title: string;
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
  readonly format: (value: number) => string;
}

const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/** Marks that lie too close for the precision of their labels have one label. */
const eachOnce = (labels: readonly string[]): string[] =>
  labels.map((label, index) => (label === labels[index - 1] ? "" : label));

/** A line chart over time. The text above it has the values for screen readers. */
export default function Chart({ title, times, values, format }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const known = values.filter((value) => value !== null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const style = getComputedStyle(element);
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: 150,
        cursor: { y: false },
        axes: [
          {
            stroke: style.color,
            space: 80,
            grid: { show: false },
            ticks: { show: false },
            values: (_plot, ticks) => eachOnce(ticks.map((seconds) => TIME.format(seconds * 1000))),
          },
          {
            stroke: style.color,
            size: 70,
            grid: { stroke: "rgba(128,128,128,0.2)", width: 1 },
            ticks: { show: false },
            values: (_plot, ticks) => eachOnce(ticks.map(format)),
          },
        ],
        scales: { y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, 1e-9)] } },
        series: [{}, { stroke: "#748ffc", width: 1.5, fill: "rgba(116,143,252,0.12)" }],
      },
      [[...times], [...values]],
      element,
    );
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 150 }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [times, values, format]);
  return (
    <figure style={{ margin: 0 }}>
      <figcaption className="chart-legend">
        <Text fw={600} size="sm">
          {title}
        </Text>
        {known.length > 0 && (
          <Text size="sm" c="dimmed">
            now {format(known.at(-1) ?? 0)}, at most {format(Math.max(...known))}
          </Text>
        )}
      </figcaption>
      <div ref={place} aria-hidden />
    </figure>
  );
}
