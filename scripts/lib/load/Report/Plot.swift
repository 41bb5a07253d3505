import Foundation

/// A plot of series over one axis, as SVG. Colours are CSS classes of the page, so that one plot is readable on dark
/// and on light backgrounds.
package struct Plot: Sendable {
    /// A line with its name.
    package struct Series: Sendable {
        package var name: String
        package var points: [(x: Double, y: Double)]

        /// A line through the points, sorted by x.
        package init(_ name: String, _ points: [(x: Double, y: Double)]) { (self.name, self.points) = (name, points) }
    }

    package var title: String
    package var xTitle: String
    package var series: [Series]
    /// Whether the vertical axis is logarithmic, as suits times; values below 0.1 are drawn as 0.1.
    package var isLogarithmic: Bool

    /// A plot of all series with points.
    package init(_ title: String, x xTitle: String, series: [Series], isLogarithmic: Bool = false) {
        (self.title, self.xTitle, self.isLogarithmic) = (title, xTitle, isLogarithmic)
        self.series = series.filter { !$0.points.isEmpty }
    }

    private static let width = 640.0, height = 300.0, left = 64.0, right = 12.0, top = 12.0, bottom = 40.0
    private static let least = 0.1
    /// The number of colours in the page's style.
    package static let colours = 10

    /// The whole figure with title and legend; empty when there is nothing to draw.
    package var html: String {
        guard !series.isEmpty else { return "" }
        let legend = series.enumerated().map { index, line in
            "<span><i class=\"c\(index % Self.colours)\"></i>\(Self.escaped(line.name))</span>"
        }
        return """
            <figure><figcaption>\(Self.escaped(title))</figcaption>\(svg)
            <div class="legend">\(legend.joined())</div></figure>
            """
    }

    private var svg: String {
        let points = series.flatMap(\.points), heights = points.map { $0.y }
        let xs = Axis(points.map { $0.x }, from: nil)
        let ys = isLogarithmic ? Axis(decades: heights, least: Self.least) : Axis(heights, from: 0)
        func x(_ value: Double) -> Double { Self.left + xs.place(value) * (Self.width - Self.left - Self.right) }
        func y(_ value: Double) -> Double {
            Self.height - Self.bottom - ys.place(value) * (Self.height - Self.top - Self.bottom)
        }
        var parts = ys.ticks.map { tick in
            Self.line(Self.left, y(tick), Self.width - Self.right, y(tick))
                + Self.text(Self.left - 6, y(tick) + 4, "end", Axis.label(tick))
        }
        parts += xs.ticks.map { Self.text(x($0), Self.height - Self.bottom + 16, "middle", Axis.label($0)) }
        parts.append(Self.text((Self.left + Self.width) / 2, Self.height - 6, "middle", Self.escaped(xTitle)))
        for (index, line) in series.enumerated() {
            let path = line.points.map { Self.figure(x($0.x)) + "," + Self.figure(y($0.y)) }.joined(separator: " ")
            parts.append("<polyline class=\"c\(index % Self.colours)\" points=\"\(path)\"/>")
            // Short lines are drawn with their points: a line of one point would be invisible.
            guard line.points.count <= 40 else { continue }
            parts += line.points.map { point in
                "<circle class=\"c\(index % Self.colours)\" r=\"2.5\" cx=\"\(Self.figure(x(point.x)))\" "
                    + "cy=\"\(Self.figure(y(point.y)))\"/>"
            }
        }
        return "<svg viewBox=\"0 0 \(Int(Self.width)) \(Int(Self.height))\" role=\"img\">\(parts.joined())</svg>"
    }

    private static func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> String {
        "<line x1=\"\(figure(x1))\" y1=\"\(figure(y1))\" x2=\"\(figure(x2))\" y2=\"\(figure(y2))\"/>"
    }

    private static func text(_ x: Double, _ y: Double, _ anchor: String, _ text: String) -> String {
        "<text x=\"\(figure(x))\" y=\"\(figure(y))\" text-anchor=\"\(anchor)\">\(text)</text>"
    }

    private static func figure(_ value: Double) -> String { String(format: "%.1f", value) }

    /// The text with HTML's special characters escaped.
    package static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: ">", with: "&gt;").replacingOccurrences(of: "\"", with: "&quot;")
    }
}
