/// Whether a form comes from a page of the shop, where the browser names only the page's origin.
package enum FormOrigin {
    /// A shop may also be open under other names than its public one. The name of the request decides then: a page of
    /// another site cannot choose it, and under a name of its own the browser sends no cookie of the shop.
    /// - Parameters:
    ///   - origin: the header `Origin`.
    ///   - host: the header `Host` of the request.
    ///   - shop: the origin of `SATCHEL_PUBLIC_URL`.
    package static func isOwn(_ origin: String, host: String?, shop: String?) -> Bool {
        if origin == shop { return true }
        guard let host = host?.lowercased(), !host.isEmpty else { return false }
        // Under the public name the scheme counts too: a page over plain HTTP may be forged on its way.
        if let shop, authority(shop) == host { return false }
        return authority(origin) == host
    }

    private static func authority(_ origin: String) -> String? {
        ["https://", "http://"].first(where: origin.hasPrefix).map { String(origin.dropFirst($0.count)).lowercased() }
    }
}
