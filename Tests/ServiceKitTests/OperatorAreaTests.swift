import Messages
import Testing

/// Which roles have which areas of the dashboard: decided in one place, without I/O.
@Suite struct OperatorAreaTests {
    private static func principal(_ roles: [String], restricted: Bool = false, master: Bool = false) -> Principal {
        .with {
            $0.roles = roles
            $0.restricted = restricted
            $0.master = master
        }
    }

    private static let all = Set(OperatorArea.allCases)

    private static let areasOfRoles: [([String], Set<OperatorArea>)] = [
        (["admins"], all), (["catalog-editors"], [.catalog]), (["order-desk"], [.orders]),
        (["support"], [.support]), (["developers"], [.developers]), (["order-desk", "support"], [.orders, .support]),
        (["Support", "Admins", "catalog", "orders", "order desk", "staff"], []), ([], []),
    ]

    @Test(arguments: areasOfRoles)
    func aRoleHasItsAreaAndNoOther(_ roles: [String], _ areas: Set<OperatorArea>) {
        let principal = Self.principal(roles)
        #expect(principal.areas == areas)
        for area in OperatorArea.allCases {
            #expect(principal.runs([area]) == areas.contains(area), "\(area)")
        }
        #expect(!principal.runs([]) || roles == ["admins"])
    }

    @Test func theMasterKeyRunsEverything() {
        #expect(Self.principal([], master: true).areas == Self.all)
    }

    @Test func aRestrictedSessionRunsNothing() {
        for role in OperatorArea.roles {
            let principal = Self.principal([role], restricted: true)
            #expect(principal.areas.isEmpty)
            #expect(OperatorArea.allCases.allSatisfy { !principal.runs([$0]) })
        }
        #expect(Principal.roles(["admins", "support", "order-desk", "staff"], restricted: true) == ["staff"])
        #expect(Principal.roles(["support", "staff"], restricted: false) == ["support", "staff"])
    }

    @Test func eachAreaHasARoleOfItsOwn() {
        #expect(OperatorArea.roles.count == OperatorArea.allCases.count)
        #expect(OperatorArea.admins.role == adminsRole)
    }
}
