package report

import (
	"fmt"
	"image/color"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	// Registers SVG as a format.
	_ "gonum.org/v1/plot/vg/vgsvg"
)

// Chart is a chart of one rate by the number of callers.
type Chart struct {
	// File is its name beside the page.
	File string
	// Title says what the bars are.
	Title string
	// What is the measure, and Contenders are the bars of each group.
	What       string
	Contenders []string
}

// Charts are the charts of the page.
var Charts = []Chart{
	{"performance-cycles.svg", "A new call: reserve and complete, fsync on", Cycles, []string{Grouped, Single, PgBench, DBOS}},
	{"performance-replays.svg", "A replayed call, and a read by primary key", Replays, []string{Grouped, Single, PgBench}},
}

// palette can be told apart by people who do not see all colours, and on both
// light and dark pages.
var palette = []color.Color{
	color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff},
	color.RGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
	color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff},
	color.RGBA{R: 0x99, G: 0x99, B: 0x99, A: 0xff},
}

const (
	barWidth = 30 // points
	barGap   = 4
)

// Draw writes the charts that there are figures for into a directory, and
// returns which.
func Draw(r *Results, dir string) ([]Chart, error) {
	var drawn []Chart
	for _, c := range Charts {
		var callers []int
		for _, by := range c.Contenders {
			callers = r.callers(c.What, by)
			if len(callers) > 0 {
				break
			}
		}
		if len(callers) == 0 {
			continue
		}
		if err := c.draw(r, callers, filepath.Join(dir, c.File)); err != nil {
			return nil, fmt.Errorf("bench: chart %s: %w", c.File, err)
		}
		drawn = append(drawn, c)
	}
	return drawn, nil
}

func (c Chart) draw(r *Results, callers []int, path string) error {
	p := plot.New()
	p.Title.Text = c.Title
	p.Title.Padding = vg.Points(10)
	p.Y.Label.Text = Measures[c.What].Unit
	p.X.Label.Text = "callers at once"
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(3)
	highest := 0.0
	for i, by := range c.Contenders {
		offset := vg.Points((float64(i) - float64(len(c.Contenders)-1)/2) * (barWidth + barGap))
		values := make(plotter.Values, len(callers))
		labels := plotter.XYLabels{XYs: make(plotter.XYs, len(callers)), Labels: make([]string, len(callers))}
		for j, n := range callers {
			s, ok := r.Summary(Point{What: c.What, By: by, Callers: n})
			labels.XYs[j] = plotter.XY{X: float64(j), Y: s.Median}
			if ok {
				values[j], labels.Labels[j] = s.Median, Number(s.Median)
				highest = max(highest, s.Median)
			}
		}
		bars, err := plotter.NewBarChart(values, vg.Points(barWidth))
		if err != nil {
			return err
		}
		bars.Color, bars.Offset, bars.LineStyle.Width = palette[i%len(palette)], offset, 0
		texts, err := plotter.NewLabels(labels)
		if err != nil {
			return err
		}
		texts.Offset = vg.Point{X: offset, Y: vg.Points(3)}
		for j := range texts.TextStyle {
			texts.TextStyle[j].Font.Size = font.Points(8)
			texts.TextStyle[j].XAlign = draw.XCenter
		}
		p.Add(bars, texts)
		p.Legend.Add(by, bars)
	}
	p.Y.Max = 1.25 * highest // room for the legend
	p.Y.Tick.Marker = thousandTicks{}
	names := make([]string, len(callers))
	for j, n := range callers {
		names[j] = Number(float64(n))
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.5, float64(len(callers))-0.5
	group := float64(len(c.Contenders))*(barWidth+barGap) + 20
	return p.Save(vg.Points(group*float64(len(callers))+80), vg.Points(340), path)
}

// thousandTicks are the default ticks with thousands apart.
type thousandTicks struct{}

func (thousandTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = Number(t.Value)
		}
	}
	return ticks
}
