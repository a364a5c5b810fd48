//! The positions in which identifiers occur, for each language whose names are looked up.
//!
//! A test compares them with the node types of the grammars.

use crate::position::NamePosition::{
    Element, Foreign, MacroReference, MacroToken, Reference, TagReference, TypeReference, Uncertain,
};
use crate::position::PositionRow;

#[cfg(feature = "rust")]
pub(super) static RUST: &[PositionRow] = &[
    PositionRow {
        role: Reference,
        positions: "\
            abstract_type.trait arguments.* array_expression.* array_expression.length array_type.element \
            array_type.length assignment_expression.left assignment_expression.right attribute.value await_expression.* \
            base_field_initializer.* binary_expression.left binary_expression.right block.* bounded_type.* \
            bracketed_type.* break_expression.* call_expression.function closure_expression.body \
            closure_expression.return_type compound_assignment_expr.left compound_assignment_expr.right const_item.type \
            const_item.value const_parameter.type const_parameter.value dynamic_type.trait enum_variant.value \
            expression_statement.* field_declaration.type field_expression.value field_initializer.value \
            for_expression.value function_item.return_type function_signature_item.return_type function_type.return_type \
            function_type.trait generic_function.function generic_type.type generic_type_with_turbofish.type \
            higher_ranked_trait_bound.type if_expression.condition impl_item.trait impl_item.type index_expression.* \
            let_chain.* let_condition.value let_declaration.type let_declaration.value match_arm.value \
            match_expression.value match_pattern.condition ordered_field_declaration_list.type parameter.type \
            parameters.* parenthesized_expression.* pointer_type.type qualified_type.alias qualified_type.type \
            range_expression.* reference_expression.value reference_type.type removed_trait_bound.* return_expression.* \
            static_item.type static_item.value struct_expression.name trait_bounds.* try_expression.* tuple_expression.* \
            tuple_type.* type_arguments.* type_binding.type type_cast_expression.type type_cast_expression.value \
            type_item.type type_parameter.default_type unary_expression.* use_bounds.* where_predicate.left \
            while_expression.condition yield_expression.*",
    },
    PositionRow {
        role: TypeReference,
        positions: "\
            scoped_identifier.path scoped_type_identifier.path visibility_modifier.*",
    },
    PositionRow {
        role: MacroReference,
        positions: "\
            macro_invocation.macro",
    },
    PositionRow {
        role: MacroToken,
        positions: "\
            token_repetition.* token_tree.*",
    },
    PositionRow {
        role: Foreign,
        positions: "\
            associated_type.name attribute.* enum_variant.name label.* lifetime.* type_binding.name",
    },
    PositionRow {
        role: Uncertain,
        positions: "\
            captured_pattern.* closure_parameters.* const_item.name const_parameter.name enum_item.name \
            extern_crate_declaration.alias extern_crate_declaration.name field_declaration.name field_expression.field \
            field_initializer.field field_pattern.name field_pattern.pattern for_expression.pattern function_item.name \
            function_signature_item.name generic_pattern.* let_condition.pattern let_declaration.pattern \
            macro_definition.name match_pattern.* mod_item.name mut_pattern.* or_pattern.* parameter.pattern \
            range_pattern.left range_pattern.right ref_pattern.* reference_pattern.* scoped_identifier.name \
            scoped_type_identifier.name scoped_use_list.path shorthand_field_initializer.* slice_pattern.* \
            static_item.name struct_item.name struct_pattern.type token_repetition_pattern.* token_tree_pattern.* \
            trait_item.name tuple_pattern.* tuple_struct_pattern.* tuple_struct_pattern.type type_item.name \
            type_parameter.name union_item.name use_as_clause.alias use_as_clause.path use_declaration.argument \
            use_list.* use_wildcard.* variadic_parameter.pattern",
    },
];

#[cfg(feature = "go")]
pub(super) static GO: &[PositionRow] = &[
    PositionRow {
        role: Reference,
        positions: "\
            argument_list.* array_type.element array_type.length binary_expression.left binary_expression.right \
            call_expression.function channel_type.value composite_literal.type const_spec.type dec_statement.* \
            defer_statement.* expression_list.* expression_statement.* expression_switch_statement.value \
            field_declaration.type for_clause.condition for_statement.* func_literal.result function_declaration.result \
            function_type.result generic_type.type go_statement.* if_statement.condition \
            implicit_length_array_type.element inc_statement.* index_expression.index index_expression.operand \
            literal_element.* map_type.key map_type.value method_declaration.result method_elem.result negated_type.* \
            parameter_declaration.type parenthesized_expression.* parenthesized_type.* pointer_type.* range_clause.right \
            receive_statement.right selector_expression.operand send_statement.channel send_statement.value \
            slice_expression.capacity slice_expression.end slice_expression.operand slice_expression.start \
            slice_type.element type_alias.type type_assertion_expression.operand type_assertion_expression.type \
            type_case.type type_constraint.* type_conversion_expression.operand type_conversion_expression.type \
            type_elem.* type_instantiation_expression.* type_instantiation_expression.type type_spec.type \
            type_switch_statement.value unary_expression.operand var_spec.type variadic_argument.* \
            variadic_parameter_declaration.type",
    },
    PositionRow {
        role: Foreign,
        positions: "\
            package_clause.*",
    },
    PositionRow {
        role: Uncertain,
        positions: "\
            const_spec.name field_declaration.name function_declaration.name import_spec.name method_declaration.name \
            method_elem.name parameter_declaration.name qualified_type.name qualified_type.package \
            selector_expression.field type_alias.name type_parameter_declaration.name type_spec.name var_spec.name \
            variadic_parameter_declaration.name",
    },
];

#[cfg(feature = "java")]
pub(super) static JAVA: &[PositionRow] = &[
    PositionRow {
        role: Reference,
        positions: "\
            annotated_type.* annotation_argument_list.* annotation_type_element_declaration.type \
            annotation_type_element_declaration.value argument_list.* array_access.array array_access.index \
            array_creation_expression.type array_initializer.* array_type.element assert_statement.* \
            assignment_expression.left assignment_expression.right binary_expression.left binary_expression.right \
            cast_expression.type cast_expression.value catch_type.* class_literal.* constant_declaration.type \
            dimensions_expr.* element_value_array_initializer.* element_value_pair.value enhanced_for_statement.type \
            enhanced_for_statement.value explicit_constructor_invocation.object expression_statement.* \
            field_access.object field_declaration.type for_statement.condition for_statement.init for_statement.update \
            formal_parameter.type generic_type.* guard.* instanceof_expression.left instanceof_expression.right \
            lambda_expression.body local_variable_declaration.type method_declaration.type method_invocation.object \
            method_reference.* object_creation_expression.* object_creation_expression.type parenthesized_expression.* \
            record_pattern_component.* resource.* resource.type resource.value return_statement.* spread_parameter.* \
            string_interpolation.* superclass.* template_expression.template_processor ternary_expression.alternative \
            ternary_expression.condition ternary_expression.consequence throw_statement.* throws.* type_arguments.* \
            type_bound.* type_list.* type_pattern.* unary_expression.operand update_expression.* \
            variable_declarator.value wildcard.* yield_statement.*",
    },
    PositionRow {
        role: TypeReference,
        positions: "\
            annotation.name compact_constructor_declaration.name constructor_declaration.name marker_annotation.name \
            receiver_parameter.* record_pattern.*",
    },
    PositionRow {
        role: Foreign,
        positions: "\
            annotation_type_element_declaration.name break_statement.* continue_statement.* element_value_pair.key \
            exports_module_directive.modules exports_module_directive.package labeled_statement.* \
            module_declaration.name opens_module_directive.modules opens_module_directive.package package_declaration.* \
            requires_module_directive.module",
    },
    PositionRow {
        role: Uncertain,
        positions: "\
            annotation_type_declaration.name catch_formal_parameter.name class_declaration.name \
            enhanced_for_statement.name enum_constant.name enum_declaration.name field_access.field \
            formal_parameter.name import_declaration.* inferred_parameters.* instanceof_expression.name \
            interface_declaration.name lambda_expression.parameters method_declaration.name method_invocation.name \
            provides_module_directive.* provides_module_directive.provided provides_module_directive.provider \
            record_declaration.name resource.name scoped_identifier.name scoped_identifier.scope \
            scoped_type_identifier.* switch_label.* type_parameter.* uses_module_directive.type variable_declarator.name",
    },
];

#[cfg(feature = "c")]
pub(super) static C: &[PositionRow] = &[
    PositionRow {
        role: Reference,
        positions: "\
            abstract_array_declarator.size alignas_qualifier.* argument_list.* array_declarator.size \
            assignment_expression.left assignment_expression.right binary_expression.left binary_expression.right \
            bitfield_clause.* call_expression.function case_statement.value cast_expression.value comma_expression.left \
            comma_expression.right concatenated_string.* conditional_expression.alternative \
            conditional_expression.condition conditional_expression.consequence declaration.type enumerator.value \
            expression_statement.* extension_expression.* field_declaration.type field_expression.argument \
            for_statement.condition for_statement.initializer for_statement.update function_definition.type \
            generic_expression.* gnu_asm_input_operand.value gnu_asm_output_operand.value init_declarator.value \
            initializer_list.* initializer_pair.value parameter_declaration.type parenthesized_expression.* \
            pointer_expression.argument return_statement.* sized_type_specifier.type sizeof_expression.value \
            subscript_designator.* subscript_expression.argument subscript_expression.index \
            subscript_range_designator.end subscript_range_designator.start type_definition.type type_descriptor.type \
            unary_expression.argument update_expression.argument",
    },
    PositionRow {
        role: MacroReference,
        positions: "\
            attribute.name attribute.prefix function_declarator.* macro_type_specifier.name ms_declspec_modifier.* \
            preproc_def.name preproc_defined.* preproc_elif.condition preproc_elifdef.name preproc_if.condition \
            preproc_ifdef.name preproc_include.path",
    },
    PositionRow {
        role: TagReference,
        positions: "\
            enum_specifier.name struct_specifier.name union_specifier.name",
    },
    PositionRow {
        role: Foreign,
        positions: "\
            gnu_asm_goto_list.label gnu_asm_input_operand.symbol gnu_asm_output_operand.symbol goto_statement.label \
            initializer_pair.designator labeled_statement.label offsetof_expression.member",
    },
    PositionRow {
        role: Uncertain,
        positions: "\
            array_declarator.declarator attributed_declarator.* compound_statement.* declaration.declarator \
            declaration_list.* enumerator.name field_declaration.declarator field_designator.* field_expression.field \
            function_declarator.declarator function_definition.declarator init_declarator.declarator \
            parameter_declaration.declarator parameter_list.* parenthesized_declarator.* pointer_declarator.declarator \
            preproc_elif.* preproc_elifdef.* preproc_else.* preproc_function_def.name preproc_if.* preproc_ifdef.* \
            preproc_params.* translation_unit.* type_definition.declarator",
    },
];

#[cfg(feature = "python")]
pub(super) static PYTHON: &[PositionRow] = &[
    PositionRow {
        role: Reference,
        positions: "\
            argument_list.* as_pattern.* assert_statement.* assignment.right attribute.object augmented_assignment.right \
            await.* binary_operator.left binary_operator.right boolean_operator.left boolean_operator.right \
            call.function chevron.* comparison_operator.* conditional_expression.* decorator.* default_parameter.value \
            dictionary_splat.* elif_clause.condition except_clause.value exec_statement.* expression_list.* \
            expression_statement.* for_in_clause.right for_statement.right format_expression.expression \
            generator_expression.body generic_type.* if_clause.* if_statement.condition interpolation.expression \
            keyword_argument.value lambda.body list.* list_comprehension.body list_splat.* match_statement.subject \
            named_expression.value not_operator.argument pair.key pair.value parenthesized_expression.* \
            print_statement.argument raise_statement.* raise_statement.cause return_statement.* set.* \
            set_comprehension.body slice.* splat_type.* subscript.subscript subscript.value tuple.* type.* \
            typed_default_parameter.value unary_operator.argument while_statement.condition with_item.value yield.*",
    },
    PositionRow {
        role: Foreign,
        positions: "\
            keyword_argument.name",
    },
    PositionRow {
        role: Uncertain,
        positions: "\
            aliased_import.alias assignment.left attribute.attribute augmented_assignment.left class_definition.name \
            default_parameter.name delete_statement.* dictionary_splat_pattern.* dotted_name.* except_clause.alias \
            exec_statement.code for_in_clause.left for_statement.left function_definition.name global_statement.* \
            keyword_pattern.* lambda_parameters.* list_pattern.* list_splat_pattern.* member_type.* \
            named_expression.name nonlocal_statement.* parameters.* pattern_list.* splat_pattern.* tuple_pattern.* \
            typed_default_parameter.name typed_parameter.*",
    },
];

/// Shared by JavaScript and TypeScript.
#[cfg(any(feature = "javascript", feature = "typescript"))]
pub(super) static SCRIPT: &[PositionRow] = &[
    PositionRow {
        role: Reference,
        positions: "\
            arguments.* array.* array_pattern.* arrow_function.body assignment_expression.left \
            assignment_expression.right assignment_pattern.left assignment_pattern.right \
            augmented_assignment_expression.left augmented_assignment_expression.right await_expression.* \
            binary_expression.left binary_expression.right call_expression.function computed_property_name.* decorator.* \
            export_statement.value expression_statement.* for_in_statement.right for_in_statement.value \
            for_statement.condition for_statement.increment for_statement.initializer jsx_expression.* \
            member_expression.object new_expression.constructor object_assignment_pattern.right pair.value \
            pair_pattern.value parenthesized_expression.* rest_pattern.* return_statement.* sequence_expression.* \
            spread_element.* subscript_expression.index subscript_expression.object switch_case.value \
            template_substitution.* ternary_expression.alternative ternary_expression.condition \
            ternary_expression.consequence throw_statement.* unary_expression.argument update_expression.argument \
            variable_declarator.value yield_expression.*",
    },
    PositionRow {
        role: Element,
        positions: "\
            jsx_closing_element.name jsx_opening_element.name jsx_self_closing_element.name",
    },
    PositionRow {
        role: Foreign,
        positions: "\
            break_statement.label continue_statement.label jsx_attribute.* jsx_namespace_name.* labeled_statement.label \
            method_definition.name namespace_export.* pair.key pair_pattern.key",
    },
    PositionRow {
        role: Uncertain,
        positions: "\
            arrow_function.parameter catch_clause.parameter class.name class_declaration.name export_specifier.alias \
            export_specifier.name for_in_statement.left function_declaration.name function_expression.name \
            generator_function.name generator_function_declaration.name import_clause.* import_specifier.alias \
            import_specifier.name member_expression.property namespace_import.* object.* object_assignment_pattern.left \
            object_pattern.* variable_declarator.name",
    },
];

#[cfg(feature = "javascript")]
pub(super) static JAVASCRIPT: &[PositionRow] = &[
    PositionRow {
        role: Reference,
        positions: "\
            class_heritage.* field_definition.value",
    },
    PositionRow {
        role: Uncertain,
        positions: "\
            field_definition.property formal_parameters.*",
    },
];

#[cfg(feature = "typescript")]
pub(super) static TYPESCRIPT: &[PositionRow] = &[
    PositionRow {
        role: Reference,
        positions: "\
            adding_type_annotation.* array_type.* as_expression.* asserts.* conditional_type.alternative \
            conditional_type.consequence conditional_type.left conditional_type.right constraint.* constructor_type.type \
            default_type.* enum_assignment.value export_statement.* extends_clause.value extends_type_clause.type \
            flow_maybe_type.* function_type.return_type generic_type.name implements_clause.* index_signature.index_type \
            index_type_query.* instantiation_expression.* instantiation_expression.function intersection_type.* \
            lookup_type.* mapped_type_clause.type nested_identifier.object non_null_expression.* \
            omitting_type_annotation.* opting_type_annotation.* optional_parameter.value optional_type.* \
            parenthesized_type.* public_field_definition.value readonly_type.* required_parameter.value rest_type.* \
            satisfies_expression.* template_type.* tuple_type.* type_alias_declaration.value type_annotation.* \
            type_arguments.* type_assertion.* type_predicate.name type_predicate.type type_query.* union_type.*",
    },
    PositionRow {
        role: TypeReference,
        positions: "\
            nested_type_identifier.module",
    },
    PositionRow {
        role: Foreign,
        positions: "\
            abstract_method_signature.name index_signature.name optional_parameter.name required_parameter.name",
    },
    PositionRow {
        role: Uncertain,
        positions: "\
            abstract_class_declaration.name ambient_declaration.* enum_assignment.name enum_body.name \
            enum_declaration.name function_signature.name import_alias.* import_require_clause.* infer_type.* \
            interface_declaration.name internal_module.name mapped_type_clause.alias mapped_type_clause.name \
            method_signature.name module.name nested_identifier.property nested_type_identifier.name \
            optional_parameter.pattern property_signature.name public_field_definition.name required_parameter.pattern \
            type_alias_declaration.name type_parameter.name",
    },
];
