import Foundation
import ProcessKit

/// The pictures below the dashboard's maps, which browsers fetch from a host that the operator names; none unless told.
///
/// Maps need no pictures: without them they are lines of degrees.
package struct MapTiles: Sendable, Equatable {
    /// The address of one picture, with `{z}`, `{x}` and `{y}` where its zoom, column and row go; empty for none.
    package let template: String
    /// Whose the pictures are, a text that is shown on each map; an address at its end becomes a link.
    package let attribution: String
    /// Scheme, host and port of the address: what the dashboard's policy allows pictures of. Nil for none.
    package let origin: String?

    private static let places = ["{z}", "{x}", "{y}"]

    /// - Throws: `StartupProblem` for an address that lacks a part, or whose host a policy could not name.
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
            let found = SiteHeaders.origin(of: address),
            // No part of the host is filled in, and nobody's name and password are in it.
            text.hasPrefix(found + "/")
        else {
            throw settings.wrong(key, "must be like https://tiles.example.org/{z}/{x}/{y}.png, with one host.")
        }
        origin = found
    }
}
