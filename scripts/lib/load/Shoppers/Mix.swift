import Foundation
import ParseProtocol

/// The shoppers' habits, read from a file such as scripts/lib/load/shoppers.json.
package struct Mix: Sendable, Equatable {
    /// The relative frequency of each step; 0 or more, not all 0.
    package var shares: [Step: Double]
    /// Mean time that a shopper looks at the result of a step before the next one; varies by up to half. 0 or more.
    package var thinkSeconds: [Step: Double]
    /// Mean requests per visit, 1 or more.
    package var visitRequests: Int
    /// The share of visits by customers with an account, 0 to 1, while accounts are free.
    package var customerShare: Double
    /// Zipf's exponent of products and of brands, 0 or more.
    package var productExponent: Double
    package var brandExponent: Double

    /// Reads a mix.
    /// - Throws: `LoadError` that names the missing, unknown or invalid member.
    package init(json: JSON) throws {
        shares = try Self.figures("shares", in: json)
        thinkSeconds = try Self.figures("thinkSeconds", in: json)
        guard shares.keys.allSatisfy({ Step.chosen.contains($0) }), shares.values.contains(where: { $0 > 0 }) else {
            throw LoadError("shares: \(Step.chosen.map(\.rawValue).joined(separator: ", ")), not all of them 0.")
        }
        visitRequests = try Int(Self.figure("visitRequests", in: json, range: 1...1000))
        customerShare = try Self.figure("customerShare", in: json, range: 0...1)
        productExponent = try Self.figure("productExponent", in: json, range: 0...5)
        brandExponent = try Self.figure("brandExponent", in: json, range: 0...5)
    }

    /// - Throws: `LoadError` when the file cannot be read or is invalid.
    init(file: String) throws {
        guard let bytes = FileManager.default.contents(atPath: file), let json = try? JSON(parsing: Array(bytes)) else {
            throw LoadError("\(file) is not a file of JSON.")
        }
        do { try self.init(json: json) } catch { throw LoadError("\(file): \(error)") }
    }

    /// Chooses a step by the shares.
    package func step(using random: inout some RandomNumberGenerator) -> Step {
        let all = Step.chosen.map { ($0, shares[$0] ?? 0) }
        let total = all.reduce(0.0) { $0 + $1.1 }
        var left = Double.random(in: 0..<total, using: &random)
        for (step, share) in all where share > 0 {
            left -= share
            if left < 0 { return step }
        }
        return all.last { $0.1 > 0 }?.0 ?? .product
    }

    /// Chooses how long a shopper looks at the result of the step.
    package func thought(after step: Step, using random: inout some RandomNumberGenerator) -> Double {
        let mean = thinkSeconds[step] ?? 0
        return mean > 0 ? Double.random(in: mean / 2...mean * 1.5, using: &random) : 0
    }

    private static func figures(_ member: String, in json: JSON) throws -> [Step: Double] {
        guard let members = json[member]?.objectValue else { throw LoadError("\(member) is missing.") }
        var figures: [Step: Double] = [:]
        for (name, value) in members {
            guard let step = Step(rawValue: name), let figure = value.doubleValue, (0...1e6).contains(figure) else {
                throw LoadError("\(member).\(name) is no figure of a step.")
            }
            figures[step] = figure
        }
        return figures
    }

    private static func figure(_ member: String, in json: JSON, range: ClosedRange<Double>) throws -> Double {
        guard let figure = json[member]?.doubleValue, range.contains(figure) else {
            throw LoadError("\(member) must be in \(range).")
        }
        return figure
    }
}

/// Why a run ends without a result.
package struct LoadError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
