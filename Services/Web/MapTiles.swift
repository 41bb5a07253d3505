import Foundation
import ProcessKit

/// The tiles of the dashboard's maps, which browsers fetch from a host that the operator configures; none by default.
///
/// Maps work without tiles and then draw lines of degrees.
package struct MapTiles: Sendable, Equatable {
    /// The address of one tile, with `{z}`, `{x}` and `{y}` for its zoom, column and row; empty for none.
    package let template: String
    /// The attribution, shown on each map; an address at its end becomes a link.
    package let attribution: String
    /// Scheme, host and port of the address, which the dashboard's content policy allows. Nil for none.
    package let origin: String?

    private static let places = ["{z}", "{x}", "{y}"]

    /// - Throws: `StartupProblem` for an address that lacks a part, or whose host a policy cannot name.
    package init(_ settings: Settings) throws(StartupProblem) {
        let key = "satchel.dashboard.tiles"
        let text = settings.text(key, default: "")
        template = text
        attribution = settings.text("\(key).attribution", default: "")
        guard !text.isEmpty else {
            origin = nil
            return
        }
        let address = Self.places.reduce(text) { $0.replacing($1, with: "0") }
        guard Self.places.allSatisfy({ text.contains($0) }), !address.contains(where: { $0 == "{" || $0 == "}" }),
            let found = WebOrigin.of(address),
            // The host has no placeholder, and no name or password precedes it.
            text.hasPrefix(found + "/")
        else {
            throw settings.wrong(key, "must be like https://tiles.example.org/{z}/{x}/{y}.png, with one host.")
        }
        origin = found
    }
}
