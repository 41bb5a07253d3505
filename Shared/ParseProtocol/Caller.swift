/// On whose behalf something is done. Every read and write of objects is decided by one of these.
public struct Caller: Hashable, Sendable {
    /// The signed-in user, or nil.
    public var userId: String?
    /// Names of every role the user has, inherited ones included, without the `role:` prefix.
    public var roles: [String]
    /// Holds the master key (or is Satchel itself): no ACL or class-level permission applies.
    public var isMaster: Bool
    /// The installation that the request named; nil when it named none. It proves nothing.
    public var installationId: String?
    /// Runs the shop: the master key, or an admin with a session of full rights. Quotas do not count such callers and
    /// keep a part of each limit for them.
    public var isOperator: Bool
    /// The network that the request came from, the key by which a client without an account is counted; empty when it
    /// is not known.
    public var network: String

    /// A caller without any rights but those that are given. The master key is an operator too.
    public init(
        userId: String? = nil, roles: [String] = [], isMaster: Bool = false, installationId: String? = nil,
        isOperator: Bool = false, network: String = ""
    ) {
        self.userId = userId
        self.roles = roles
        self.isMaster = isMaster
        self.installationId = installationId
        self.isOperator = isOperator || isMaster
        self.network = network
    }

    /// The master key, and Satchel itself.
    public static let master = Caller(isMaster: true)
    /// A client without a session.
    public static let anonymous = Caller()

    /// The keys under which an ACL or class-level permission can grant something to this caller.
    public var grants: [String] { ["*"] + (userId.map { [$0] } ?? []) + roles.map { "role:\($0)" } }
}
