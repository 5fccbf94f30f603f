"""Results of table.py as an SVG: for each model, how many times as long each engine takes as the fastest one."""
from html import escape

COLOURS = ["#e07000", "#3b78b0", "#4f9d57", "#8d5fb0", "#b04848", "#7a7a7a", "#b89a2f"]
BAR, GAP, LEFT, WIDTH = 13, 12, 150, 560
LIMIT = 4.0  # longer bars are cut, and say so


def svg(results, ours):
    engines = [ours] + sorted({engine for result in results for engine in result["ms"]} - {ours})
    colour = {engine: COLOURS[i % len(COLOURS)] for i, engine in enumerate(engines)}
    parts, y = [], 40
    for i, engine in enumerate(engines):
        x = LEFT + 105 * i
        parts.append(f'<rect x="{x}" y="12" width="10" height="10" fill="{colour[engine]}"/><text x="{x + 14}" y="21">{escape(engine)}</text>')
    for result in results:
        bars = [engine for engine in engines if engine in result["ms"]]
        if not bars:
            continue
        fastest = min(result["ms"].values())
        parts.append(f'<text x="{LEFT - 8}" y="{y + BAR * len(bars) / 2 + 4}" text-anchor="end">{escape(result["model"])}</text>')
        for engine in bars:
            ratio = result["ms"][engine] / fastest
            length = WIDTH * min(ratio, LIMIT) / LIMIT
            text = f"{result['ms'][engine]:.2f} ms" + (f", {ratio:.0f} times as long" if ratio > LIMIT else "")
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{colour[engine]}"/>'
                         f'<text x="{LEFT + length + 5:.1f}" y="{y + BAR - 4}" font-size="10">{text}</text>')
            y += BAR
        y += GAP
    width = max(LEFT + WIDTH + 170, LEFT + 105 * len(engines))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" font-family="sans-serif" font-size="12" fill="#333">'
            f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n')
