import Foundation

/// An axis: its range, the positions of values, and its labelled values.
package struct Axis: Sendable {
    private let from: Double
    private let to: Double
    private let isLogarithmic: Bool
    /// The labelled values, in order.
    package let ticks: [Double]

    /// A linear axis over the values, with four to nine ticks that are 1, 2 or 5 times a power of ten apart.
    /// - Parameter from: the lower end; by default the lowest value.
    package init(_ values: [Double], from: Double?) {
        let low = from ?? values.min() ?? 0, high = max(values.max() ?? 0, low)
        let span = high > low ? high - low : max(abs(high), 1)
        let power: Double = pow(10.0, log10(span / 5).rounded(.down))
        let step = [1.0, 2, 5, 10].map { $0 * power }.first { span / $0 <= 8 } ?? power * 10
        let first = (low / step).rounded(.up)
        self.from = low
        to = low + span
        isLogarithmic = false
        ticks = (0...9).map { (first + Double($0)) * step }.filter { $0 <= low + span + step / 1000 }
    }

    /// A logarithmic axis over whole decades.
    /// - Parameter least: more than 0; lower values are drawn at this value.
    package init(decades values: [Double], least: Double) {
        let low = log10(max(values.min() ?? least, least)).rounded(.down)
        let high = max(log10(max(values.max() ?? least, least)).rounded(.up), low + 1)
        from = pow(10.0, low)
        to = pow(10.0, high)
        isLogarithmic = true
        ticks = (Int(low)...Int(high)).map { pow(10.0, Double($0)) }
    }

    /// The position of a value: 0 at the lower end, 1 at the upper end.
    package func place(_ value: Double) -> Double {
        let value = min(max(value, from), to)
        return isLogarithmic ? log10(value / from) / log10(to / from) : (value - from) / (to - from)
    }

    /// The label of a value.
    package static func label(_ value: Double) -> String {
        let rounded = (value * 1000).rounded() / 1000
        return rounded == rounded.rounded() ? String(Int(rounded)) : "\(rounded)"
    }
}
